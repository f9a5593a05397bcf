"""What every rule generator takes beside a request, the benchmark in numbers and what the search found, and gives."""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

from pydantic import Field

from bife_core.base.errors import BifeError, GeneratorError
from bife_core.base.values import Value
from bife_core.search.types import Draft as Draft, Sample, WrittenRequest


class FeatureRange(Value):
    """The values of one feature over all recorded candidates.

    The quantiles are 0, 10, 50, 90 and 100 %. `alone` is F_LF of choosing by this feature alone, by its smallest value
    if `smallest`; `times_best` that of the best of all times this one to a `power`. `repeats` is the index of an
    earlier feature that has the same values, up to the sign.
    """

    index: int
    quantiles: tuple[float, float, float, float, float]
    alone: float | None = None
    smallest: bool = False
    times_best: float | None = None
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

    `benchmark` is what is solved, `instances` are sentences on the instances and the recorded decisions; `features` has
    one entry per feature, in order, or none. `low` and `high` say what F_LF and F_HF are, `tau` is the F_LF that now
    earns solves, and `rpb` F_HF of SCIP's own rule. `earlier` are the samples before this request, in order. By a
    sample's id, `failings` are sentences on where its rule chooses wrongly, `executions` a table of its solves and
    `regrets` what its choices miss. `fitting` says that numbers of rules are fitted to the decisions, and `fitted`
    whose were. `likeness` is the share of decisions in which two parents choose alike, `theme` what a rule without
    parents begins from.
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

    One with a true attribute `needs_context` is given the whole context, others the benchmark's name alone. A method
    `repair` is given request, context, the rejected draft and the sentence why it is no valid rule, and returns a
    draft, or None where there is nothing to repair. A method `ask` proposes settings of SCIP too: given a key and a
    function that makes the prompt, it returns the text of the answer, or None.
    """

    name: str

    def generate(self, request: WrittenRequest, context: PromptContext) -> Draft:
        """Write one rule, or one reflection.

        The request's `id` is unique within a run, and its `seed` is that of all draws. A `GeneratorError` says that no
        further request can succeed either, for instance because the key was refused.
        """
        ...
