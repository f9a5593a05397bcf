"""What a search asks for and what is reported to it: plain values that serialise to JSON."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Final, Literal

from pydantic import Field, model_validator

from bife_core.base.values import Value
from bife_core.language.components import BRANCHING
from bife_core.solver.scip.cost import Cost

Operator = str
"""What makes a rule: BiFE's own are EoH's i1 (no parents), e1, e2 (crossovers), m1, m2 (mutations), and `fit`."""


class Sample(Value):
    """One sampled rule and all that is known of it; what is not known is None.

    `id` is generation and position, such as ``g03-c05``. `sha` is a hash of the rule's normalised syntax tree, and
    `behaviour` has a letter for each recorded decision, for the candidate it chose. Of the fidelities `f_lf` and `f_hf`
    higher is better. `niche` is that of a fitted rule. Of a valid rule without F_HF, `duplicate_of` is the id of an
    earlier one that chooses alike, and `eliminated` why it was given up in its race, as half a sentence. `failure` is
    why the sample is out, as one sentence.
    """

    id: str
    generation: int
    operator: Operator
    parents: tuple[str, ...] = ()
    sha: str | None = None
    source: str | None = None
    thought: str | None = None
    behaviour: str | None = None
    f_lf: float | None = None
    f_hf: float | None = None
    niche: int | None = None
    duplicate_of: str | None = None
    eliminated: str | None = None
    failure: str | None = None

    @property
    def valid(self) -> bool:
        """Whether nothing is known against the rule: it passed all that was asked of it so far."""
        return self.failure is None

    @property
    def lineage(self) -> str:
        """By which operator and from which samples it was made, such as ``g01-c02 by m1 from g00-c00``."""
        origin = f" from {', '.join(self.parents)}" if self.parents else ""
        return f"{self.id} by {self.operator}{origin}"


class _Written(Value):
    """What requests for a rule and for a reflection share; `hints` are texts for the generator, such as reflections.

    `prompt` is the operator's part of the prompt, for an operator that is not BiFE's own; ``$parents``, ``$hints`` and
    ``$count`` (of parents) are filled in. `component` is what a rule is written for, see
    `bife_core.language.components`.
    """

    id: str
    generation: int
    operator: Operator
    parents: tuple[Sample, ...] = ()
    hints: tuple[str, ...] = ()
    prompt: str | None = None
    component: str = BRANCHING.name
    seed: int


class SampleRequest(_Written):
    """Write a rule with `operator` from `parents`, then check it and, if `scored`, measure F_LF.

    With `source` the rule, or the text of another method, is given and no generator is asked. With `training` the
    search's own function `train` finds the rule, given that; a ``niche`` in it is that of the sample. `number` counts
    the rules that were asked for before it.
    """

    kind: Literal["sample"] = "sample"
    scored: bool = True
    source: str | None = None
    training: dict[str, Any] | None = None
    number: int = 0


class ReflectionRequest(_Written):
    """Write a text on `parents`, worse before better, and on earlier `hints`; it costs a call and gives no rule."""

    kind: Literal["reflection"] = "reflection"


WrittenRequest = SampleRequest | ReflectionRequest


class TrialRequest(Value):
    """Solve training instances, given by their positions, with a rule, or with RPB: feedback that is no F_HF.

    `sample` and `source` are None for RPB. `parameters` are what the numbers that the search tunes are set to in
    `source`, for the record; `cost` is what a solve costs, None being what F_HF is measured in.
    """

    kind: Literal["trial"] = "trial"
    id: str
    sample: str | None = None
    source: str | None = None
    parameters: dict[str, float] = Field(default_factory=dict)
    instances: tuple[int, ...]
    time_limit_s: float
    cost: Cost | None = None


class SolveRequest(Value):
    """Score the rule of `sample` with F_HF.

    `to_beat` and `best` are the costs by design instance of the worst rule that the search would keep, and of its best;
    empty where there is none. A rule that cannot beat the worst may be eliminated.
    """

    kind: Literal["solve"] = "solve"
    id: str
    sample: Sample
    to_beat: tuple[float | None, ...] = ()
    best: tuple[float | None, ...] = ()


Request = WrittenRequest | TrialRequest | SolveRequest


class Answer(Value):
    """What became of a request: what it asked for, or in `failure` the sentence why that is not there.

    A sample has fields of `Sample`, a reflection its `text`. A solve has `f_hf`, or in `eliminated` why the rule was
    given up, and the `costs` of the design instances in order, None where there is none; a trial has `costs`. A number
    that is not finite is a failure, so that an answer survives JSON.
    """

    id: str
    sha: str | None = None
    source: str | None = None
    thought: str | None = None
    behaviour: str | None = None
    f_lf: float | None = None
    text: str | None = None
    f_hf: float | None = None
    eliminated: str | None = None
    costs: tuple[float | None, ...] = ()
    failure: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _is_finite(cls, fields: dict[str, Any]) -> dict[str, Any]:
        for name, label in (("f_lf", "F_LF"), ("f_hf", "F_HF"), ("costs", "A cost")):
            value = fields.get(name)
            values = value if isinstance(value, list | tuple) else (value,)
            wrong = [each for each in values if isinstance(each, float) and not math.isfinite(each)]
            if wrong:
                reason = fields.get("failure") or f"{label} is {wrong[0]}, not a finite number"
                fields = {key: field for key, field in fields.items() if key != name} | {"failure": reason}
        return fields


class GenerationSummary(Value):
    """The state of a search after a generation, 0 being the initial population.

    `samples`, `failures` and `solved` are of this generation, those with ``_total`` of all so far; `best_f_lf` and
    `best_f_hf` are of all valid rules so far, `mean_f_lf` of those alive; `n_alive` and `n_elites` are sizes; `tau` is
    the F_LF that the next samples must reach to earn solves, None without elites.
    """

    generation: int
    samples: int
    failures: int
    solved: int
    samples_total: int
    failures_total: int
    best_f_lf: float | None = None
    mean_f_lf: float | None = None
    best_f_hf: float | None = None
    n_alive: int = 0
    n_elites: int = 0
    tau: float | None = None


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
    """What finding a rule cost; a search that never solves with a rule has no curve.

    All times are seconds of work, added up as if done one after the other: they neither depend on the number of workers
    nor on whether a run was interrupted. Work that was found done, such as decisions recorded for an earlier search or
    a solve in the store, counts with what it took then.
    """

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
