"""What every rule generator takes beside a request, the benchmark in numbers and what the search found, and gives."""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

from pydantic import Field

from bife_core.base.errors import BifeError, GeneratorError
from bife_core.base.values import Value
from bife_core.search.types import Sample, WrittenRequest


class FeatureRange(Value):
    """The values of one feature over all recorded candidates.

    The quantiles are the smallest value, 10 %, median, 90 % and largest value. `alone` is F_LF of choosing by this
    feature alone, by its smallest value if `smallest`; `given` that of the best of all times this one to a `power`, by
    size. `repeats` is the index of an earlier feature that has the same values, up to the sign.
    """

    index: int
    quantiles: tuple[float, float, float, float, float]
    alone: float | None = None
    smallest: bool = False
    given: float | None = None
    power: float = 0.0
    repeats: int | None = None

    @property
    def constant(self) -> bool:
        """Whether all candidates have the same value."""
        return self.quantiles[0] == self.quantiles[-1]

    @property
    def first(self) -> str:
        """Which candidates it chooses in the better direction; where no value is positive, in terms of size."""
        if self.quantiles[-1] > 0.0:
            return "smallest" if self.smallest else "largest"
        return "farthest from 0" if self.smallest else "closest to 0"


class PromptContext(Value):
    """What a generator is given beside the request.

    `benchmark` is what is solved. `instances` are sentences on the instances and the recorded decisions; `features` has
    one entry per feature, in order, or none. `low` and `high` say what F_LF and F_HF are, `tau` is the F_LF that now
    earns solves, and `rpb` F_HF of SCIP's own rule.

    `earlier` is what the search sampled before it made this request, in order. By a sample's id, `failings` has
    sentences on where its rule chooses wrongly, `executions` a table of its solves and `regrets` what its choices miss.
    `fitting` says that numbers of rules are fitted to the decisions after they are written, and `fitted` whose were.
    `likeness` is the share of decisions in which two parents choose alike, `theme` what a rule without parents begins
    from.
    """

    benchmark: str
    instances: tuple[str, ...] = ()
    features: tuple[FeatureRange, ...] = ()
    low: str = ""
    high: str = ""
    tau: float | None = None
    rpb: float | None = None
    earlier: tuple[Sample, ...] = ()
    failings: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    executions: dict[str, str] = Field(default_factory=dict)
    regrets: dict[str, float] = Field(default_factory=dict)
    fitting: bool = False
    fitted: tuple[str, ...] = ()
    likeness: float | None = None
    theme: str = ""


class Message(Value):
    """One chat message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


class Draft(Value):
    """What a generator gave: a rule's source with the thought behind it, a text, or the reason there is none.

    `fit` is whether numbers in the source may be fitted on F_LF. A reflection has a `text` and no source. `generator`
    is who wrote it, which the study fills in, and `model` the language model, if any. `seconds` are wall seconds of
    writing, CPU seconds of a fit. `unanswered` is "refused" when the service did not accept the request, "outage" when
    it gave no answer: then the failure speaks of the service and not of a rule. Calls to a model API are in the
    `Account`.
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


class NoDraftError(BifeError):
    """A request has no answer now; `draft` says why. What it means for the search the kinds of this error say."""

    def __init__(self, reason: str, draft: Draft | None = None) -> None:
        super().__init__(reason)
        self.draft = draft


class DraftingStoppedError(NoDraftError, GeneratorError):
    """No further rule can be written until a person changes something."""


@runtime_checkable
class Generator(Protocol):
    """Writes rules.

    One with a true attribute `needs_context` is given the whole context, which takes reading decisions and instances;
    others get the benchmark's name. One with a method `repair` writes a rule once more: it is given request, context,
    the draft that was rejected, and the sentence why it is no valid rule, and returns a draft, or None where there is
    nothing to repair. One with a method `ask` proposes settings of SCIP too: it is given a key and a function that
    makes the prompt, and returns the text of the answer, or None.
    """

    name: str

    def generate(self, request: WrittenRequest, context: PromptContext) -> Draft:
        """Write one rule, or one reflection.

        The request's `id` is unique within a run, and its `seed` is that of all draws. A `GeneratorError` says that no
        further request can succeed either, for instance because the key was refused.
        """
        ...
