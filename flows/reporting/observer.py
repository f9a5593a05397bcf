"""How a run is watched from the process that started it, whatever the watcher draws with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from bife_core.study import Watcher
from tasks.stores import listening


class Observer(Watcher):
    """Told what happens, and says nothing; others show it. None of it may raise, and it should return at once."""

    def stage(self, name: str, about: str) -> None:
        """Take note that a stage begins: collection, evolution, evaluation or registration."""

    def note(self, text: str) -> None:
        """Take note of something the user should know."""


_NOBODY = Observer()
_watching: ContextVar[Observer] = ContextVar("bife_observer", default=_NOBODY)


def observer() -> Observer:
    """Return who watches the present run."""
    return _watching.get()


def noted(texts: Iterable[str]) -> tuple[str, ...]:
    """Have whoever watches take note of texts, of each once, and return them for the result."""
    told = tuple(dict.fromkeys(texts))
    for text in told:
        observer().note(text)
    return told


def watched() -> bool:
    """Whether anybody watches the present run."""
    return _watching.get() is not _NOBODY


@contextmanager
def observing(watcher: Observer) -> Iterator[None]:
    """Have `watcher` told of all runs started inside.

    Examples
    --------
    >>> from flows.pipeline import pipeline  # doctest: +SKIP
    >>> with observing(Observer()):  # doctest: +SKIP
    ...     result = pipeline(config)
    """
    token = _watching.set(watcher)
    try:
        with listening(watcher.progress, watcher.note):
            yield
    finally:
        _watching.reset(token)
