"""How an evolution is watched while it runs."""

from __future__ import annotations

from bife_core.generators import Spending
from bife_core.search import CostPoint, Sample
from bife_core.values import Value


class EvolutionState(Value):
    """Where an evolution stands after a generation.

    Attributes
    ----------
    sampled, budget : int
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
    samples : tuple of Sample
        All so far.
    curve : tuple of CostPoint
        Best F_HF against what had been spent.
    """

    generation: int
    sampled: int
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
    samples: tuple[Sample, ...] = ()
    curve: tuple[CostPoint, ...] = ()


class Watcher:
    """Told what is done now, and says nothing; others show it. It must not raise and should return at once."""

    def activity(self, text: str) -> None:
        """Take note what is being done, such as "solving with 3 rules"."""

    def progress(self, done: int, total: int) -> None:
        """Take note how far that is."""
