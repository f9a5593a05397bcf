"""What a search asks for and what is reported to it: plain values that serialise to JSON."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from bife_core.base.values import Value
from bife_core.language.components import BRANCHING, COMPONENTS
from bife_core.solver.scip.cost import Cost

Operator = str
"""What makes a rule: BiFE's own are EoH's i1 (no parents), e1, e2 (crossovers), m1, m2 (mutations), and `fit`."""

FIDELITIES: Final = ("f_lf", "f_hf")
"""Fields of a sample that say how good its rule is; higher is better."""


class Sample(Value):
    """One sampled rule and all that is known of it; what is not known is None.

    `id` is generation and position, such as ``g03-c05``. `sha` is a hash of the rule's normalised syntax tree, and
    `behaviour` has a letter for each recorded decision, for the candidate it chose. Of `f_lf` and `f_hf` higher is
    better. `niche` is that of a fitted rule. A valid rule without F_HF may be the `duplicate_of` an earlier one that
    chooses alike, or `eliminated` in its race (half a sentence). `failure` is the sentence why the sample is out.
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
        """Whether nothing is known against the rule."""
        return self.failure is None

    @property
    def fidelities(self) -> dict[str, float]:
        """How good the rule is, as far as that is known, by the names in `FIDELITIES`."""
        return {name: value for name, value in self if name in FIDELITIES and value is not None}

    @property
    def lineage(self) -> str:
        """By which operator and from which samples it was made, such as ``g01-c02 by m1 from g00-c00``."""
        origin = f" from {', '.join(self.parents)}" if self.parents else ""
        return f"{self.id} by {self.operator}{origin}"


class _Asked(Value):
    """What every request has: an id that no other of its kind has.

    A kind says here all that others must know of it; `Evaluator.work` answers it. `activity` is what is done while
    ``{count}`` of the kind are answered, on ``{instances}`` perhaps. In a `SearchCost` the seconds of an answer's draft
    and scores are `parts`, and one more `counts_as`. An answer gives one of `FIDELITIES`, or fails.
    """

    activity: ClassVar[str]
    parts: ClassVar[dict[str, str]]
    counts_as: ClassVar[str] = ""
    fidelity: ClassVar[str] = ""

    kind: str
    id: str

    @property
    def after_rpb(self) -> bool:
        """Whether RPB's solves of the design instances have to be there first."""
        return False

    @property
    def subject(self) -> str:
        """Kind and id, such as ``solve g03-c05``; no other request has both."""
        return f"{self.kind} {self.id}"

    @property
    def rule(self) -> Sample | None:
        """The sample, as it is when it is asked about, that an answer says more of; None if it says no fidelity."""
        return None


class _Written(_Asked):
    """What requests for a rule and for a reflection share; `hints` are texts for the generator, such as reflections.

    `prompt` is the operator's part of the prompt, for an operator that is not BiFE's own, with ``$parents``, ``$hints``
    and ``$count`` (of parents) to fill in. `component` is what a rule is written for (`bife_core.language.components`).
    """

    generation: int
    operator: Operator
    parents: tuple[Sample, ...] = ()
    hints: tuple[str, ...] = ()
    prompt: str | None = None
    component: str = BRANCHING.name
    seed: int


class SampleRequest(_Written):
    """Write a rule with `operator` from `parents`, then check it and, if `scored`, measure F_LF.

    With `source` the rule, or the text of another method, is there already. With `training` the search's own function
    `train` finds the rule; a ``niche`` in it is that of the sample. `number` counts the rules asked for before it.
    """

    activity: ClassVar[str] = "sampling {rules}"
    parts: ClassVar[dict[str, str]] = {"draft": "generation", "low": "f_lf"}
    counts_as: ClassVar[str] = "samples"
    fidelity: ClassVar[str] = "f_lf"

    kind: Literal["sample"] = "sample"
    scored: bool = True
    source: str | None = None
    training: dict[str, Any] | None = None
    number: int = 0

    @property
    def after_rpb(self) -> bool:
        """Whether F_LF is measured by RPB's solves."""
        return self.scored and bool(COMPONENTS.find(self.component).low)

    @property
    def rule(self) -> Sample:
        """The sample that is asked for."""
        return Sample(
            id=self.id,
            generation=self.generation,
            operator=self.operator,
            parents=tuple(parent.id for parent in self.parents),
            niche=(self.training or {}).get("niche"),
        )


class ReflectionRequest(_Written):
    """Write a text on `parents`, worse before better, and on earlier `hints`; it costs a call and gives no rule."""

    activity: ClassVar[str] = "writing {count} reflections"
    parts: ClassVar[dict[str, str]] = {"draft": "generation"}
    counts_as: ClassVar[str] = "reflections"

    kind: Literal["reflection"] = "reflection"


WrittenRequest = SampleRequest | ReflectionRequest


class TrialRequest(_Asked):
    """Solve training instances, by their positions, with a rule, or with RPB: feedback that is no F_HF.

    `sample` and `source` are None for RPB. `parameters` are what the search set its numbers in `source` to, for the
    record; `cost` is what a solve costs, None being what F_HF is measured in.
    """

    activity: ClassVar[str] = "{count} trials on training instances"
    parts: ClassVar[dict[str, str]] = {"high": "tuning"}
    counts_as: ClassVar[str] = "trials"

    kind: Literal["trial"] = "trial"
    sample: str | None = None
    source: str | None = None
    parameters: dict[str, float] = Field(default_factory=dict)
    instances: tuple[int, ...]
    time_limit_s: float
    cost: Cost | None = None


class SolveRequest(_Asked):
    """Score the rule of `sample` with F_HF.

    `to_beat` and `best` are the costs by design instance of the worst rule that the search would keep, and of its best;
    empty where there is none. A rule that cannot beat the worst may be eliminated.
    """

    activity: ClassVar[str] = "solving {instances} instances with {rules}"
    parts: ClassVar[dict[str, str]] = {"high": "f_hf"}
    fidelity: ClassVar[str] = "f_hf"

    kind: Literal["solve"] = "solve"
    sample: Sample
    to_beat: tuple[float | None, ...] = ()
    best: tuple[float | None, ...] = ()

    @property
    def after_rpb(self) -> bool:
        """Yes: other methods are measured by RPB's."""
        return True

    @property
    def rule(self) -> Sample:
        """The sample to be solved with."""
        return self.sample


Request = WrittenRequest | TrialRequest | SolveRequest


class Draft(Value):
    """What a generator gave: a rule's `source` with its `thought`, a reflection's `text`, or the `failure`.

    `fit` is whether numbers in the source may be fitted on F_LF. The study fills in the `generator`; `model` is the
    language model, if any. `seconds` are wall seconds of writing, CPU seconds of a fit. `unanswered` is "refused" when
    the service did not accept the request, "outage" when it gave no answer: the failure is then the service's.
    """

    generator: str = ""
    model: str = ""
    thought: str | None = None
    source: str | None = None
    fit: bool = True
    text: str | None = None
    failure: str | None = None
    seconds: float = 0.0
    unanswered: Literal["outage", "refused"] | None = None


class Entry(Value):
    """An event of a study: when it was stored, and for how many wall seconds the search had run over all starts."""

    kind: ClassVar[str]
    """What events of the class are called in the store, such as "answered"."""

    at_unix_s: float = 0.0
    elapsed_s: float = 0.0

    def __init_subclass__(cls, **options: Any) -> None:
        """Name the events after their class."""
        super().__init_subclass__(**options)
        cls.kind = cls.__name__.lower()

    @property
    def subject(self) -> str:
        """What the event is about; empty if it is about the search as a whole."""
        return ""


class GenerationSummary(Value):
    """The state of a search after a generation, 0 being the initial population.

    `samples`, `failures` and `solved` are of this generation, those with ``_total`` of all so far; `best_f_lf` and
    `best_f_hf` are of all valid rules so far, `mean_f_lf` of those alive. `tau` is the F_LF that the next samples must
    reach to earn solves, None without elites.
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
"""What the time of a search goes on, in the order of a search; the names of `SearchCost.parts`."""


class CostPoint(Value):
    """One step of the anytime curve: a rule better than all before, and what had been spent by then."""

    solver_s: float = Field(description="CPU seconds in the solver, those of the collection included.")
    work_s: float = Field(description="Seconds of all work but `other`.")
    samples: int = Field(description="Rules sampled.")
    calls: int = Field(description="Requests to the generator.")
    f_hf: float = Field(description="F_HF of the best rule.")
    sample: str = Field(description="Id of the best rule.")


class SearchCost(Value):
    """What finding a rule cost; a search that never solves with a rule has no curve.

    Times are seconds of work, added up as if done one after the other, whatever the number of workers and whether a run
    was interrupted. Work that was found done, such as a solve in the store, counts with what it took then.
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
    def work_s(self) -> float:
        """Time of the search: the sum of all parts."""
        return sum(self.parts.values())

    def metrics(self) -> dict[str, float]:
        """Return the totals as flat numbers, without the counts a run has curves of."""
        return {f"{part}_s": value for part, value in self.parts.items()} | {
            "work_s": self.work_s,
            "solver_s": self.solver_s,
            "wall_s": self.wall_s,
            "reflections": float(self.reflections),
            "trials": float(self.trials),
        }

    def plus(self, counted: str = "", **seconds: float) -> SearchCost:
        """Return the cost with more seconds in some of `PARTS`, and one more of what is `counted`."""
        added = {f"{part}_s": more for part, more in seconds.items()} | ({counted: 1} if counted else {})
        return self.model_copy(update={name: getattr(self, name) + more for name, more in added.items()})

    def reaching(self, f_hf: float, sample: str) -> SearchCost:
        """Return the cost with one more rule solved with, and a point of the curve if it is the best so far."""
        cost = self.plus("solved")
        if self.curve and f_hf <= self.curve[-1].f_hf:
            return cost
        totals = {name: getattr(cost, name) for name in ("solver_s", "work_s", "samples", "calls")}
        point = CostPoint(**totals, f_hf=f_hf, sample=sample)
        return cost.model_copy(update={"curve": (*cost.curve, point)})
