"""The store of the home and what our MLflow has of it, who watches a run, and work that one process at a time does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING

from bife_core.places import store_address
from bife_core.store import Store, StudyRow
from bife_core.watcher import Watcher

if TYPE_CHECKING:
    from bife_core.estimate import Estimate


class Observer(Watcher):
    """Called when something happens, and does nothing; others show it. No method may raise or take long."""

    def stage(self, name: str, about: str) -> None:
        """Note that a stage begins: collection, evolution, evaluation or registration."""

    def expect(self, estimate: Estimate) -> None:
        """Note how long the stages of a run that begins will take."""

    def note(self, text: str) -> None:
        """Note something the user should know."""


_NOBODY = Observer()
_watching: ContextVar[Observer] = ContextVar("bife_observer", default=_NOBODY)


def observer() -> Observer:
    """Return the observer of the present run, which tasks also pass on to the function that does the work."""
    return _watching.get()


def noted(texts: Iterable[str]) -> tuple[str, ...]:
    """Pass texts to the observer, each once, and return them."""
    notes = tuple(dict.fromkeys(texts))
    for text in notes:
        observer().note(text)
    return notes


def watched() -> bool:
    """Whether the present run has an observer."""
    return observer() is not _NOBODY


@contextmanager
def observing(watcher: Observer) -> Iterator[None]:
    """Have `watcher` called by all runs and tasks started inside."""
    token = _watching.set(watcher)
    try:
        yield
    finally:
        _watching.reset(token)


def home_store() -> Store:
    """Return the store of the home, or the database that ``BIFE_STORE`` names; a process opens it once."""
    return _opened(store_address())


@lru_cache(maxsize=4)
def _opened(where: str) -> Store:
    return Store(where)


def cursor_of(study: str) -> tuple[int, str] | None:
    """Return the last event of a study that our MLflow has, and its run; None if it was given none."""
    return home_store().cursor(subscriber(), study)


def subscriber() -> str:
    """Return what the store knows our MLflow by."""
    return f"mlflow {os.environ['MLFLOW_TRACKING_URI']}"


def lacking() -> list[tuple[StudyRow, int]]:
    """Return the studies that our MLflow has been given events of before and lacks some of, and how many it lacks."""
    seen_of = ((row, cursor_of(row.key)) for row in home_store().studies())
    return [(row, row.last - seen[0]) for row, seen in seen_of if seen is not None and row.last > seen[0]]


def mlflow_run(study: str) -> str:
    """Return the id of a study's run in our MLflow, empty while it has none."""
    return (cursor_of(study) or (0, ""))[1]


@contextmanager
def alone_at(name: str, work: str) -> Iterator[None]:
    """Hold the claim on a piece of work, described by `work`; wait while another process does the same.

    The caller then finds the other's results.
    """

    def wait(holder: str) -> None:
        observer().note(f"Waiting: {work} is under way in {holder}; its results are then used.")

    with home_store().claim(name, waits=wait):
        yield
