"""The sections `low` and `high` of the configuration."""

from __future__ import annotations

from pydantic import Field

from bife_core.base.values import Positive, Value
from bife_core.measure.low_measures import MEASURES, LowMeasure
from bife_core.solver.scip.cost import Cost
from bife_core.solver.scip.settings import Seed


class LowFidelityConfig(Value):
    """F_LF: how well a rule imitates the recorded strong-branching decisions."""

    measure: LowMeasure = Field(
        "accuracy", description=f"{'; '.join(f'{name!r}: {one.words}' for name, one in MEASURES.items())}."
    )
    tune: int = Field(
        0,
        ge=0,
        description="Settings of a rule's numbers that are tried on F_LF before the rule is evaluated in the solver; 0 "
        "leaves the numbers as they are.",
    )


class HighFidelityConfig(Value):
    """F_HF: minus the mean cost of solving the design instances."""

    instances: int = Field(20, ge=1, description="Design instances to solve.")
    cost: Cost = Field("time", description="What a solve costs.")
    time_limit_s: Positive = Field(60.0, description="CPU seconds one solve may take.")
    seed: Seed = Field(0, description="SCIP's randomisation seed, and that of the order of a race.")
    load_correction: bool = Field(
        True,
        description="Whether seconds are corrected for the load of the machine, measured by the root of each solve.",
    )
    race: bool = Field(
        True, description="Whether a rule is eliminated once it is known to be worse than the worst elite."
    )
