"""Who is shown what a run does; a module of its own, for what is shown must not wait for what is computed with."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from bife_core.base.values import Value
from bife_core.search.generators.account import Spending
from bife_core.search.types import CostPoint, GenerationSummary, Sample

if TYPE_CHECKING:
    from bife_core.run.estimate import Estimate

LOG: Final = logging.getLogger("bife")
"""Where everything is noted that no observer shows: stages and generations as INFO, notes as WARNING."""


class TrackedRun(Value):
    """Where a tracker has a study, without an id while it has none; addresses are relative where it has no server."""

    run_id: str = ""
    url: str = ""
    ranking: str = ""  # of a search's samples, best first
    tracker: str = ""  # its name, empty where the store alone has the study


class SearchState(GenerationSummary):
    """Where a search stood when a generation ended, in an earlier run if it is `replayed`.

    Of `budget` rules to be sampled some were `eliminated` by racing; `remaining_s` is a guess. `references` are the
    F_HF of what rules are to beat, `curve` is the best F_HF against what had been spent, `budget_used` the share of
    each limit.
    """

    budget: int
    replayed: bool = False
    eliminated: int = 0
    last_failure: str | None = None
    spending: Spending
    elapsed_s: float
    remaining_s: float
    rules: tuple[Sample, ...] = ()
    curve: tuple[CostPoint, ...] = ()
    references: dict[str, float] = {}  # noqa: RUF012 - pydantic copies it
    budget_used: dict[str, float] = {}  # noqa: RUF012 - pydantic copies it

    @property
    def sentence(self) -> str:
        """Where the search stands, without what is unknown."""
        spent = self.spending
        left_s = 0.0 if self.replayed else self.remaining_s
        facts = {
            "samples": f"{self.samples_total}/{self.budget}",
            "best F_LF": None if self.best_f_lf is None else f"{self.best_f_lf:.3g}",
            "best F_HF": None if self.best_f_hf is None else f"{self.best_f_hf:.4g}",
            **{f"F_HF of {name}": f"{value:.4g}" for name, value in self.references.items()},
            "elites": self.n_elites,
            "tau": None if self.tau is None else f"{self.tau:.3g}",
            "eliminated": self.eliminated or None,
            "failures": self.failures_total,
            "tokens": f"{spent.tokens:,}" if spent.tokens else None,
            "cost": spent.price(2) or None,
            "time": timedelta(seconds=round(self.elapsed_s)),
            "left": timedelta(seconds=round(left_s)) if left_s > 0 else None,
        }
        earlier = " (earlier run)" if self.replayed else ""
        shown = ", ".join(f"{name} {fact}" for name, fact in facts.items() if fact is not None)
        return f"generation {self.generation}{earlier}: {shown}"


class Observer:
    """Learns what a run does; this one writes it to Python's logging, as ``bife``. No method may raise or take long."""

    def log(self, level: int, text: str) -> None:
        """Write a line; what shows a run in another way needs none."""
        LOG.log(level, "%s", text)

    def stage(self, name: str, about: str) -> None:
        """Note that a stage begins, such as the collection."""
        self.log(logging.INFO, f"{name}: {about}")

    def expect(self, estimate: Estimate) -> None:
        """Note how long the stages of a run that begins will take."""

    def activity(self, text: str) -> None:
        """Note what is being done, such as "solving with 3 rules"."""

    def progress(self, done: int, total: int) -> None:
        """Note how far that is."""

    def generation(self, state: SearchState) -> None:
        """Note that a generation is complete."""
        self.log(logging.INFO, state.sentence)

    def note(self, text: str) -> None:
        """Note something a person should know."""
        self.log(logging.WARNING, text)
