"""The store of the home, and work that one process at a time does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING

from bife_core.store import ClaimTimeoutError, Store
from tasks.home import project_home

if TYPE_CHECKING:
    from bife_core.sandbox import Note

Progress = Callable[[int, int], None]
"""Called with (done, of how many)."""

_listeners: ContextVar[tuple[Progress | None, Note | None]] = ContextVar(
    "bife_listeners", default=(None, None)
)


def progress_listener() -> Progress | None:
    """Return the listener that tasks pass on to the function that does the work, or None."""
    return _listeners.get()[0]


def note_listener() -> Note | None:
    """Return the function that shows notes to the person who watches this run, or None."""
    return _listeners.get()[1]


def note(sentence: str) -> None:
    """Show a sentence to the person who watches this run."""
    listener = note_listener()
    if listener is not None:
        listener(sentence)


@contextmanager
def listening(listener: Progress, note: Note | None = None) -> Iterator[None]:
    """Have `listener` and `note` called by all tasks started inside."""
    token = _listeners.set((listener, note))
    try:
        yield
    finally:
        _listeners.reset(token)


def home_store() -> Store:
    """Return the store of the home, or the database that ``BIFE_STORE`` names; a process opens it once."""
    return _opened(os.environ.get("BIFE_STORE") or str(project_home().root))


@lru_cache(maxsize=4)
def _opened(where: str) -> Store:
    return Store(where)


@contextmanager
def alone_at(name: str, work: str) -> Iterator[None]:
    """Hold the claim on a piece of work, described by `work`; wait while another process does the same.

    The caller then finds the other's results.
    """
    with ExitStack() as held:
        try:
            held.enter_context(home_store().claim(name, timeout_s=0.0))
        except ClaimTimeoutError:
            note(f"Another process is at {work}; this one waits for it and then uses its results.")
            held.enter_context(home_store().claim(name))
        yield
