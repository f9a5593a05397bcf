"""What finding a rule cost: the rule-design time by what it went on, and how good the rule was by when.

All times are seconds of work, added up as if done one after the other: they neither depend on the number of
workers nor on whether a run was interrupted. Work that was found done, such as decisions recorded for an earlier
search or a solve in the store, counts with what it took then.
"""

from __future__ import annotations

from decimal import Decimal
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
    wall_s: float = Field(0.0, description="Wall seconds that the search ran in the process that ended it.")
    tokens: int = Field(0, description="Tokens of prompts and answers.")
    usd: Decimal | None = Field(None, description="US dollars that they cost; None without prices.")
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

    def plus(self, part: str, seconds: float, counted: str = "") -> SearchCost:
        """Return the cost with more seconds in one of `PARTS`, and one more of what is `counted`, such as "samples"."""
        name = f"{part}_s"
        changed: dict[str, float] = {name: getattr(self, name) + seconds}
        if counted:
            changed[counted] = getattr(self, counted) + 1
        return self.model_copy(update=changed)

    def solved_with(self, sample: str, seconds: float, f_hf: float | None) -> SearchCost:
        """Return the cost with the CPU seconds of a rule's solves, and with a point if it is better than all before."""
        cost = self.plus("f_hf", seconds, "" if f_hf is None else "solved")
        if f_hf is None or (self.curve and f_hf <= self.curve[-1].f_hf):
            return cost
        known = {name: getattr(cost, name) for name in ("solver_s", "design_s", "samples", "calls")}
        point = CostPoint(**known, f_hf=f_hf, sample=sample)
        return cost.model_copy(update={"curve": (*cost.curve, point)})
