"""How a run is watched from the process that started it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from bife_core.study import Watcher
from tasks.stores import listening


class Observer(Watcher):
    """Called when something happens, and does nothing; others show it. No method may raise or take long."""

    def stage(self, name: str, about: str) -> None:
        """Note that a stage begins: collection, evolution, evaluation or registration."""

    def note(self, text: str) -> None:
        """Note something the user should know."""


_NOBODY = Observer()
_watching: ContextVar[Observer] = ContextVar("bife_observer", default=_NOBODY)


def observer() -> Observer:
    """Return the observer of the present run."""
    return _watching.get()


def noted(texts: Iterable[str]) -> tuple[str, ...]:
    """Pass texts to the observer, each once, and return them."""
    notes = tuple(dict.fromkeys(texts))
    for text in notes:
        observer().note(text)
    return notes


def watched() -> bool:
    """Whether the present run has an observer."""
    return _watching.get() is not _NOBODY


@contextmanager
def observing(watcher: Observer) -> Iterator[None]:
    """Have `watcher` called by all runs started inside."""
    token = _watching.set(watcher)
    try:
        with listening(watcher.progress, watcher.note):
            yield
    finally:
        _watching.reset(token)
