"""What finding a rule cost: the rule-design time by what it went on, and how good the rule was by when.

All times are seconds of work, added up as if done one after the other: they neither depend on the number of
workers nor on whether a run was interrupted. Work that was found done, such as decisions recorded for an earlier
search or a solve in the store, counts with what it took then.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from bife_core.values import Value

PARTS: Final = ("collection", "generation", "f_lf", "tuning", "f_hf", "other")
"""What rule-design time goes on, in the order of a search; the names of `SearchCost.parts`."""


class CostPoint(Value):
    """One step of the anytime curve: a rule better than all before, and what had been spent by then."""

    solver_s: float = Field(description="CPU seconds in the solver, those of the collection included.")
    design_s: float = Field(description="Seconds of all work but `other`.")
    samples: int = Field(description="Rules sampled.")
    calls: int = Field(description="Requests to the generator.")
    f_hf: float = Field(description="F_HF of the best rule.")
    sample: str = Field(description="Id of the best rule.")


class SearchCost(Value):
    """The cost of one search; a search that never solves with a rule has no curve."""

    search: str = Field(description="Registered name of the search.")
    samples: int = Field(0, description="Rules the generator was asked for.")
    reflections: int = Field(0, description="Texts the generator was asked for that are no rules.")
    trials: int = Field(0, description="Parameter settings tried on training instances.")
    solved: int = Field(0, description="Rules whose F_HF was measured.")
    collection_s: float = Field(0.0, description="CPU seconds of recording strong-branching decisions.")
    generation_s: float = Field(0.0, description="Wall seconds of having rules and reflections written.")
    f_lf_s: float = Field(0.0, description="CPU seconds of checking, compiling and measuring F_LF.")
    tuning_s: float = Field(0.0, description="CPU seconds of solves for screening and parameter tuning.")
    f_hf_s: float = Field(0.0, description="CPU seconds of solves for F_HF.")
    other_s: float = Field(
        0.0, description="Wall seconds in which no rule was written, scored or solved with."
    )
    wall_s: float = Field(0.0, description="Wall seconds of the run that ended the search.")
    curve: tuple[CostPoint, ...] = Field((), description="Best F_HF against what had been spent.")

    @property
    def calls(self) -> int:
        """Requests to the generator: samples and reflections."""
        return self.samples + self.reflections

    @property
    def solver_s(self) -> float:
        """CPU seconds in the solver."""
        return self.collection_s + self.tuning_s + self.f_hf_s

    @property
    def parts(self) -> dict[str, float]:
        """Seconds by what they went on; `PARTS` are the keys."""
        return {part: float(getattr(self, f"{part}_s")) for part in PARTS}

    @property
    def design_s(self) -> float:
        """Rule-design time: the sum of all parts."""
        return sum(self.parts.values())

    def metrics(self) -> dict[str, float]:
        """Return the totals as flat numbers, without the counts a run has curves of."""
        return {f"{part}_s": value for part, value in self.parts.items()} | {
            "design_s": self.design_s,
            "solver_s": self.solver_s,
            "wall_s": self.wall_s,
            "reflections": float(self.reflections),
            "trials": float(self.trials),
        }


class CostLedger:
    """Adds up what a search spends, told in the order of its answers.

    Parameters
    ----------
    search : str
        Registered name of the search.
    collection_s : float
        CPU seconds that recording the decisions took; 0 for a search that reads none.

    Examples
    --------
    >>> ledger = CostLedger("bife", collection_s=4.0)
    >>> ledger.sampled(0.5), ledger.scored(0.25), ledger.solved("g00-c00", 2.0, -1.0)
    (None, None, None)
    >>> cost = ledger.total(other_s=0.25, wall_s=3.0)
    >>> cost.design_s, cost.solver_s, cost.curve[0].f_hf
    (7.0, 6.0, -1.0)
    """

    def __init__(self, search: str, collection_s: float = 0.0) -> None:
        self._cost = SearchCost(search=search, collection_s=collection_s)

    def sampled(self, seconds: float) -> None:
        """Take note of a sample and the wall seconds its writing took."""
        self._add("generation", seconds, samples=self._cost.samples + 1)

    def reflected(self, seconds: float) -> None:
        """Take note of a reflection and the wall seconds its writing took."""
        self._add("generation", seconds, reflections=self._cost.reflections + 1)

    def scored(self, seconds: float) -> None:
        """Take note of CPU seconds spent on checking a rule and on its F_LF."""
        self._add("f_lf", seconds)

    def tried(self, seconds: float) -> None:
        """Take note of a trial on training instances and its CPU seconds in the solver."""
        self._add("tuning", seconds, trials=self._cost.trials + 1)

    def referred(self, seconds: float) -> None:
        """Take note of the CPU seconds of RPB's solves that those of rules are measured by."""
        self._add("f_hf", seconds)

    def solved(self, sample: str, seconds: float, f_hf: float | None) -> None:
        """Take note of a rule's solves: their CPU seconds, and the F_HF unless they failed."""
        self._add("f_hf", seconds, solved=self._cost.solved + (f_hf is not None))
        curve, cost = self._cost.curve, self._cost
        if f_hf is None or (curve and f_hf <= curve[-1].f_hf):
            return
        point = CostPoint(
            solver_s=cost.solver_s,
            design_s=cost.design_s,
            samples=cost.samples,
            calls=cost.calls,
            f_hf=f_hf,
            sample=sample,
        )
        self._cost = cost.model_copy(update={"curve": (*curve, point)})

    def total(self, *, other_s: float, wall_s: float) -> SearchCost:
        """Return the cost so far."""
        return self._cost.model_copy(update={"other_s": other_s, "wall_s": wall_s})

    def _add(self, part: str, seconds: float, **counts: int) -> None:
        name = f"{part}_s"
        self._cost = self._cost.model_copy(update={name: getattr(self._cost, name) + seconds, **counts})
