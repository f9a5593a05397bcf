"""How far a long task is, and what happened to it, told to whoever listens in the process that started it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bife_core.sandbox import Note

Progress = Callable[[int, int], None]
"""Called with (done, of how many)."""

_note_listener: ContextVar[Note | None] = ContextVar("bife_note", default=None)
_listener: ContextVar[Progress | None] = ContextVar("bife_progress", default=None)


def progress_listener() -> Progress | None:
    """Return who listens, or None; tasks pass it on to the function that does the work."""
    return _listener.get()


def note_listener() -> Note | None:
    """Return who is told of mishaps, or None."""
    return _note_listener.get()


def note(sentence: str) -> None:
    """Have whoever watches this run read a sentence."""
    listener = note_listener()
    if listener is not None:
        listener(sentence)


@contextmanager
def listening(listener: Progress, note: Note | None = None) -> Iterator[None]:
    """Have `listener` and `note` called by all tasks started inside."""
    token, note_token = _listener.set(listener), _note_listener.set(note)
    try:
        yield
    finally:
        _listener.reset(token)
        _note_listener.reset(note_token)
