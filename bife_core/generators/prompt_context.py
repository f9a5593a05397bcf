"""What a generator is given beside the request: the benchmark in numbers, and the findings of the search so far."""

from __future__ import annotations

from pydantic import Field

from bife_core.search.types import Sample
from bife_core.values import Value


class FeatureRange(Value):
    """The values of one feature over all recorded candidates.

    The quantiles are the smallest value, 10 %, median, 90 % and largest value. `alone` is F_LF of choosing by this
    feature alone, by its smallest value if `smallest`; `given` that of the best of all times this one to a `power`, by
    size. `repeats` is the index of an earlier feature that has the same
    values, up to the sign.
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

    `benchmark` is what is solved. `instances` are sentences on the instances and the recorded decisions, numbers taken
    from them; `features` has one entry per feature, in the order of the table, and is empty without recorded decisions.
    `low` and `high` say what F_LF and F_HF are, `tau` is the F_LF that now earns solves, and `rpb` F_HF of SCIP's own
    rule; both are None until a rule was evaluated in the solver.

    `earlier` is what the search sampled before it made this request, in order. By a sample's id, `failings` has
    sentences on where its rule chooses wrongly, `executions` a table of its solves and `regrets` what its choices miss.
    `fitting` says that the numbers of rules are fitted to the recorded decisions after they are written, and `fitted`
    whose have become others so. `likeness` is the share of decisions in which two parents choose the same candidate.
    `theme` is what a rule without parents is to begin from.
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
