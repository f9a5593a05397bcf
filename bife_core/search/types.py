"""What a search asks for and what is reported to it: plain values that serialise to JSON."""

from __future__ import annotations

import math
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import Field, model_validator

from bife_core.scip.cost import Cost
from bife_core.values import Value

Operator = str
"""What makes a rule: BiFE's own are EoH's i1 (no parents), e1, e2 (crossovers), m1, m2 (mutations), and `fit`."""


class Sample(Value):
    """One sampled rule and all that is known of it.

    Attributes
    ----------
    id : str
        Generation and position, such as ``g03-c05``; unique within a search.
    sha : str or None
        Hash of the rule's normalised syntax tree; None when the sample gave no rule.
    behaviour : str or None
        Hash of what the rule chose in the recorded decisions; two rules of one behaviour are behavioural duplicates.
    f_lf, f_hf : float or None
        Low and high fidelity, higher is better; None while unknown.
    niche : int or None
        Niche of a fitted rule, see `Fit`; None for all others.
    eliminated : str or None
        Why a valid rule was given up while it was being solved with and has no F_HF, as half a sentence.
    failure : str or None
        Why the sample is out, as one sentence; None for a valid rule.
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
    eliminated: str | None = None
    failure: str | None = None

    @property
    def valid(self) -> bool:
        """Whether nothing is known against the rule: it passed all that was asked of it so far."""
        return self.failure is None


class Fit(Value):
    """How much a rule may be fitted.

    Attributes
    ----------
    terms : int
        Factors it may have.
    children : int
        Formulas bred before one is chosen; 0 adds one factor after the other.
    rank : int
        Which of those bred is chosen, 0 being the likeliest: the rules of a generation are bred from the same decisions
        and shall differ.
    niche : int
        How many kinds of features (roles) the rule does without: of the first factors selected from all features, from
        those of other roles than that, and so on. What imitates best may solve badly, and then all rules that rest on
        it do.
    """

    terms: int
    children: int
    rank: int = 0
    niche: int = 0


class SampleRequest(Value):
    """Write a rule with `operator` from `parents`, then check it and, if wanted, score it with F_LF.

    Attributes
    ----------
    hints : tuple of str
        Texts for the generator, such as reflections.
    scored : bool
        Whether F_LF is wanted; without, the rule is only checked.
    source : str or None
        The rule itself where the search starts from a given one; then no generator is asked.
    prompt : str or None
        The operator's part of the prompt, for an operator that is not BiFE's own; ``$parents``, ``$hints`` and
        ``$count`` (of parents) are filled in. Required for a generator that asks a language model.
    fit : Fit or None
        How a rule by operator `fit` is found.
    """

    kind: Literal["sample"] = "sample"
    id: str
    generation: int
    operator: Operator
    parents: tuple[Sample, ...] = ()
    hints: tuple[str, ...] = ()
    seed: int
    scored: bool = True
    source: str | None = None
    prompt: str | None = None
    fit: Fit | None = None


class ReflectionRequest(Value):
    """Write a text on `parents`, worse before better, and on earlier `hints`; it costs a call and gives no rule."""

    kind: Literal["reflection"] = "reflection"
    id: str
    generation: int
    operator: Operator
    parents: tuple[Sample, ...] = ()
    hints: tuple[str, ...] = ()
    prompt: str | None = None
    seed: int


WrittenRequest = SampleRequest | ReflectionRequest
"""What a generator is asked for."""


class TrialRequest(Value):
    """Solve training instances with a rule, or with RPB: feedback that is no F_HF.

    Attributes
    ----------
    sample : str or None
        Id of the sample the rule belongs to; None for RPB.
    source : str or None
        The rule to solve with; None for RPB.
    parameters : dict
        What the numbers that the search tunes are set to in `source`, for the record.
    instances : tuple of int
        Positions in the training instances of the search.
    cost : str or None
        What a solve costs; None is what F_HF is measured in.
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

    Attributes
    ----------
    to_beat, best : tuple of (float or None)
        Costs by design instance of the worst rule that the search would keep, and of its best; empty where the rule has
        none to beat. A rule that cannot beat the worst may be given up.
    """

    kind: Literal["solve"] = "solve"
    id: str
    sample: Sample
    to_beat: tuple[float | None, ...] = ()
    best: tuple[float | None, ...] = ()


Request = WrittenRequest | TrialRequest | SolveRequest


class Answer(Value):
    """What became of a request: what it asked for, or in `failure` the sentence why that is not there.

    A number that is not finite is a failure. So an answer survives JSON, which knows no NaN.

    Attributes
    ----------
    sha, source, thought, behaviour, f_lf
        Of a rule that was sampled, as in `Sample`.
    text : str or None
        What a reflection wrote.
    f_hf : float or None
        Of a rule that was evaluated in the solver.
    eliminated : str or None
        Why it has no F_HF, if it is known to be worse than the one it had to beat.
    costs : tuple of (float or None)
        Of its solves of the design instances, or of those of a trial, in order; None where there is none.
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
    """The state of a search after, or within, one generation.

    Attributes
    ----------
    generation : int
        0 for the initial population.
    samples, failures, solved : int
        Of this generation: rules sampled, those of them that are out, those of them with an F_HF.
    samples_total, failures_total : int
        The same over all generations so far.
    best_f_lf, best_f_hf : float or None
        Highest fidelity of any valid rule so far; None while there is none.
    mean_f_lf : float or None
        Mean F_LF over the rules alive; None while there is none.
    n_alive, n_elites : int
        Size of the population, and of the elite set within it.
    tau : float or None
        F_LF that the next samples must reach to earn solves; None without elites.
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


@runtime_checkable
class Search(Protocol):
    """A search is a value: no I/O, no clock, its own random generator.

    Drive it with ``while requests := search.ask(): search.tell(answers_to(requests))``. Answers must come for all
    requests of one `ask` and in their order, so that the history alone rebuilds the search.

    Attributes
    ----------
    samples : tuple of Sample
        All so far, in the order they were sampled.
    best : Sample or None
        The rule the search would return now, by the fidelity it goes by; None while there is none.
    summaries : tuple of GenerationSummary
        One per completed generation.
    low_fidelity : bool
        Whether it asks for F_LF, so that decisions have to be recorded.
    training_instances : int
        Training instances that its trials speak of.
    """

    def ask(self) -> tuple[Request, ...]:
        """Return the next requests, all independent of one another; empty when the search is over."""
        ...

    def tell(self, answers: tuple[Answer, ...]) -> None:
        """Take the answers to the requests of the last `ask`."""
        ...

    @property
    def samples(self) -> tuple[Sample, ...]: ...  # noqa: D102 - described above

    @property
    def best(self) -> Sample | None: ...  # noqa: D102

    @property
    def summaries(self) -> tuple[GenerationSummary, ...]: ...  # noqa: D102

    @property
    def low_fidelity(self) -> bool: ...  # noqa: D102

    @property
    def training_instances(self) -> int: ...  # noqa: D102
