"""How a run is watched from the process that started it, whatever the watcher draws with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from bife_core.generators import Spending
from bife_core.values import Value
from tasks.progress import listening


class EvolutionState(Value):
    """Where an evolution stands after a generation.

    Attributes
    ----------
    samples, budget : int
        Rules sampled so far, and to be sampled in all.
    best_f_lf, best_f_hf : float or None
        Highest fidelities so far.
    elites : int
        Size of the elite set.
    tau : float or None
        F_LF the next samples must reach.
    failures : int
        Samples so far that gave no valid rule.
    last_failure : str or None
        Why the latest of them did not.
    elapsed_s, remaining_s : float
        Wall seconds since the search began, and a guess at those to come.
    """

    generation: int
    samples: int
    budget: int
    best_f_lf: float | None
    best_f_hf: float | None
    elites: int
    tau: float | None
    failures: int
    last_failure: str | None = None
    spending: Spending
    elapsed_s: float
    remaining_s: float


class Observer:
    """Told what happens, and says nothing; others show it. None of it may raise, and it should return at once."""

    def stage(self, name: str, about: str) -> None:
        """Take note that a stage begins: collection, evolution, evaluation or registration."""

    def progress(self, done: int, total: int) -> None:
        """Take note how far the present stage or its present step is."""

    def activity(self, text: str) -> None:
        """Take note what is being done now, such as "solving with 3 rules"."""

    def generation(self, state: EvolutionState) -> None:
        """Take note that a generation is complete."""

    def note(self, text: str) -> None:
        """Take note of something the user should know."""


_NOBODY = Observer()
_watching: ContextVar[Observer] = ContextVar("bife_observer", default=_NOBODY)


def observer() -> Observer:
    """Return who watches the present run."""
    return _watching.get()


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
