"""The choice of cuts as a component, the lever of STRCMP, and a search for its rules beside any branching.

No recorded decision says what a cut is worth: rules are bred by F_HF alone, beginning with that of SCIP's `hybrid`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final

from pydantic import BeforeValidator, Field

from bife_core import load_method
from bife_core.extend import (
    RPB,
    SIGNED,
    Answered,
    AnyMethod,
    Component,
    ComponentRule,
    Group,
    HighOnlySearch,
    Sample,
    SearchConfig,
    Value,
)

_DISTANCE: Final = Group("distance", cost="candidate", role="distance")
_SHAPE: Final = Group("shape", cost="candidate", role="shape")
_COEFFICIENTS: Final = Group("coefficients", cost="entry", role="coefficients")
_OBJECTIVE: Final = Group("objective", cost="entry", role="objective")
_STANDING: Final = Group("standing", cost="candidate", role="standing")

HYBRID: Final = "def cut_score(cut):\n    return cut[0] + 0.1 * cut[2] + 0.1 * cut[3] + 0.0001 * cut[15]\n"
"""The score of SCIP's cut selector `hybrid` at its defaults, without its random number for ties."""

CUTS: Final = Component(
    name="cuts",
    function="cut_score",
    argument="cut",
    features=(
        *_DISTANCE.features(
            (0, "efficacy", "distance of the LP solution from the cut"),
            (
                1,
                "cutoff_distance",
                "the same on the way to the incumbent, efficacy at least or without incumbent",
            ),
        ),
        *_SHAPE.features(
            (2, "objective_parallelism", "cosine of cut and objective, absolute"),
            (3, "integer_support", "share of the cut's columns that are integer"),
            (4, "support", "share of the LP's columns that are in the cut"),
        ),
        *_DISTANCE.features((5, "violation", "violation by the side's absolute value, or by 1")),
        *_COEFFICIENTS.features(
            (6, "coef_mean", "mean of the cut's coefficients"),
            (7, "coef_max", "largest of them"),
            (8, "coef_min", "smallest of them"),
            low=SIGNED,
        ),
        *_COEFFICIENTS.features((9, "coef_stddev", "their standard deviation")),
        *_OBJECTIVE.features(
            (10, "obj_mean", "mean of the objective coefficients of its columns"),
            (11, "obj_max", "largest of them"),
            (12, "obj_min", "smallest of them"),
            low=SIGNED,
        ),
        *_OBJECTIVE.features((13, "obj_stddev", "their standard deviation")),
        *_STANDING.features(
            (14, "forced_parallelism", "highest parallelism to a cut that is selected in any case"),
            (15, "in_pool", "1 for a cut of the global pool, else 0"),
        ),
    ),
    hook="bife_rivals.cut_selector:attach",
    baseline=HYBRID,
    about="""In each round of separation the solver has found many cuts that the LP solution violates. Your function is
called once for every cut. The cut of the highest score is selected; cuts too parallel to it are dropped, as
SCIP's own selector `hybrid` does; of the others that of the highest score is next, and so on. A cut of a
negative score is left out, and a NaN too. Too few cuts leave a weak LP bound and a large tree, too many
make every LP slow: cuts cost time at the root, and save nodes. Efficacies are mostly between 0.001 and 1,
shares and cosines between 0 and 1, while coefficients and violations have the scale of the model. SCIP's
own score is `cut[0] + 0.1 * cut[2] + 0.1 * cut[3] + 0.0001 * cut[15]`.""",
    themes=(
        "how far the LP solution is from the cut",
        "how dense the cut is, and what that costs every LP",
        "the cut's direction beside the objective's",
        "the sizes of the cut's coefficients",
        "a threshold below which cuts are left out",
        "the incumbent, and the way to it",
    ),
)
"""Which cuts to select."""


_RPB: Final = load_method(RPB)


def _loaded(branching: Any) -> Any:
    return load_method(branching) if isinstance(branching, str) else branching


class CutOptions(Value):
    """The search's own settings."""

    branching: Annotated[AnyMethod, BeforeValidator(_loaded)] = Field(
        _RPB,
        description="What branches beside the cut rules: a reference, or a method's JSON.",
    )


class CutSearch(HighOnlySearch):
    """BiFE's search without F_LF for rules that score cuts, with a branching of the user's choice beside them.

    Examples
    --------
    >>> search = CutSearch(SearchConfig(algorithm="cuts", samples=4, initial=2))
    >>> [(request.component, request.source is None) for request in search.ask()]
    [('cuts', True), ('cuts', True), ('cuts', False)]
    """

    Options: ClassVar[type[Value]] = CutOptions
    options: CutOptions

    def __init__(self, config: SearchConfig) -> None:
        super().__init__(config.model_copy(update={"component": CUTS.name}))

    def admit(self, answers: Sequence[Answered]) -> list[Sample]:
        """Enter the samples, each with what branches beside it."""
        return [self._beside(sample) for sample in super().admit(answers)]

    def _beside(self, sample: Sample) -> Sample:
        if (
            not sample.valid
            or sample.source is None
            or sample.source.lstrip().startswith("{")
            or self.options.branching == _RPB
        ):
            return sample
        rule = ComponentRule(name="", source=sample.source, branching=self.options.branching)
        self.update(sample := sample.model_copy(update={"source": rule.model_dump_json(exclude={"name"})}))
        return sample
