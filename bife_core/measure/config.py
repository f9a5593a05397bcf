"""The sections `low`, `high`, `validation` and `evaluation` of the configuration."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from bife_core.base.values import Positive, Value
from bife_core.measure.low_measures import MEASURES, LowMeasure
from bife_core.solver.methods.base import BUILTIN_METHODS, METHODS
from bife_core.solver.scip.cost import Cost
from bife_core.solver.scip.settings import Seed


class LowFidelityConfig(Value):
    """F_LF: how well a rule imitates the recorded strong-branching decisions."""

    measure: LowMeasure = Field(
        "accuracy",
        description=f"{'; '.join(f'{name!r}: {measure.words}' for name, measure in MEASURES.items())}.",
    )
    tune: int = Field(
        0,
        ge=0,
        description="Settings of a rule's numbers that are tried on F_LF before the rule is evaluated in the solver; 0 "
        "leaves the numbers as they are.",
    )
    start_s: Positive = Field(
        10.0,
        description="CPU seconds that a start method may take on an instance while its F_LF is measured.",
    )


class HighFidelityConfig(Value):
    """F_HF: minus the mean cost of solving the design instances."""

    instances: int = Field(20, ge=1, description="Design instances to solve.")
    cost: Cost = Field("time", description="What a solve costs.")
    choose_cost: bool = Field(
        True,
        description="Whether cost and metric become the primal integral where no solve of SCIP ends and its dual bound "
        "stands still; not where one of them is set.",
    )
    time_limit_s: Positive = Field(60.0, description="CPU seconds one solve may take.")
    seed: Seed = Field(0, description="SCIP's randomisation seed, and that of the order of a race.")
    load_correction: bool = Field(
        True,
        description="Whether seconds are corrected for the load of the machine, measured by the root of each solve.",
    )
    race: bool = Field(
        True, description="Whether a rule is eliminated once it is known to be worse than the worst elite."
    )

    @model_validator(mode="before")
    @classmethod
    def _set_cost_stays(cls, data: Any) -> Any:
        return {"choose_cost": "cost" not in data} | data if isinstance(data, dict) else data


def _all_different(values: tuple[float, ...]) -> tuple[float, ...]:
    if len(set(values)) < len(values):
        raise ValueError("name each value once; the same solve twice adds no information")
    return values


_Share = Annotated[float, Field(gt=0, lt=1)]


class ValidationConfig(Value):
    """How the final rule is chosen: the best few by F_HF are evaluated again, on instances of their own.

    There the best is also tried with budgets (`bife_core.Budget`), under which RPB branches before the rule does.
    """

    finalists: int = Field(5, ge=1, description="Rules with the best F_HF to choose among; 1 takes the best.")
    instances: int = Field(20, ge=1, description="Validation instances, apart from design and test.")
    budgets: Annotated[tuple[_Share, ...], AfterValidator(_all_different)] = Field(
        (0.5,),
        description="Shares of all LP iterations that RPB's strong branching may take before the best finalist "
        "branches; each is measured beside the finalists. Empty: rules branch alone.",
    )


class EvaluationConfig(Value):
    """How methods are compared with a baseline on instances they never saw."""

    instances: int = Field(20, ge=1, description="Held-out test instances.")
    most_instances: int = Field(
        60,
        ge=1,
        description="Test instances at most where a rule may become champion: more are drawn until that is decided. "
        "Not above `instances`: there are no more than those.",
    )
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1), AfterValidator(_all_different)] = Field(
        (0, 1, 2, 3, 4), description="SCIP seeds per instance."
    )
    time_limit_s: Positive = Field(1000.0, description="CPU seconds one solve may take.")
    baseline: str = Field(
        "relpscost",
        description="Method the others are compared with; relpscost is RPB.",
        json_schema_extra=lambda schema: schema.update(enum=[*BUILTIN_METHODS, *METHODS.foreign]),
    )
    metric: Cost = Field("time", description="What methods are compared by.")

    @property
    def warm_up_s(self) -> float:
        """CPU seconds each solver process spends on an unmeasured solve first."""
        return min(2.0, self.time_limit_s / 30)
