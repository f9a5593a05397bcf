"""How far a long task is, told to whoever listens in the process that started it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[int, int], None]
"""Called with (done, of how many)."""

_listener: ContextVar[Progress | None] = ContextVar("bife_progress", default=None)


def progress_listener() -> Progress | None:
    """Return who listens, or None; tasks pass it on to the function that does the work."""
    return _listener.get()


@contextmanager
def listening(listener: Progress) -> Iterator[None]:
    """Have `listener` called by all tasks started inside."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
