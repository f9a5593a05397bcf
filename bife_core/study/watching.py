"""How an evolution is watched while it runs."""

from __future__ import annotations

from bife_core.generators import Spending
from bife_core.search import CostPoint, GenerationSummary, Sample


class EvolutionState(GenerationSummary):
    """Where an evolution stands after a generation.

    Attributes
    ----------
    budget : int
        Rules to be sampled in all.
    eliminated : int
        Rules given up in their races so far.
    load_factor : float or None
        How many times slower the machine was during this generation's solves than during RPB's, in the geometric mean;
        None where nothing was solved or seconds are not controlled.
    last_failure : str or None
        Why the latest sample without a valid rule is none.
    elapsed_s, remaining_s : float
        Wall seconds since the search began, and a guess at those to come.
    rules : tuple of Sample
        All samples so far.
    curve : tuple of CostPoint
        Best F_HF against what had been spent.
    """

    budget: int
    eliminated: int = 0
    load_factor: float | None = None
    last_failure: str | None = None
    spending: Spending
    elapsed_s: float
    remaining_s: float
    rules: tuple[Sample, ...] = ()
    curve: tuple[CostPoint, ...] = ()


class Watcher:
    """Told what is done now, and says nothing; others show it. It must not raise and should return at once."""

    def activity(self, text: str) -> None:
        """Take note what is being done, such as "solving with 3 rules"."""

    def progress(self, done: int, total: int) -> None:
        """Take note how far that is."""
