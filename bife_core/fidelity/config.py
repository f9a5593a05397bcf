"""The sections `low` and `high` of the configuration."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bife_core.scip.cost import Cost
from bife_core.scip.solver import Seed, SolverConfig, SolverSetting
from bife_core.values import Value

LowMeasure = Literal["agreement", "genuine", "regret", "depth_regret", "rank"]
"""What F_LF is; `bife_core.fidelity.measures` says how each is computed."""


class LowFidelityConfig(Value):
    """F_LF: how well a rule chooses in the recorded decisions."""

    measure: LowMeasure = Field(
        "agreement",
        description="Share of decisions in which the rule chooses as the expert, in all ('agreement', the paper's) or "
        "where no child is cut off ('genuine'); the chosen candidate's score over the best, with all decisions alike "
        "('regret') or weighted by 2^-depth ('depth_regret'); or the rank correlation of all scores ('rank').",
    )
    ties: Literal["any", "first"] = Field(
        "any",
        description="In 'agreement' and 'genuine', 'any' credits every candidate with the best expert score, 'first' "
        "only the first.",
    )
    tune: int = Field(
        0,
        ge=0,
        description="Settings of a rule's numbers that are tried on F_LF before it is solved with, whoever wrote it; "
        "0 leaves them as they are.",
    )
    time_limit_s: float = Field(30.0, gt=0, description="Wall seconds before a rule is stopped and rejected.")


class HighFidelityConfig(Value):
    """F_HF: minus the mean cost of solving the design instances."""

    instances: int = Field(20, ge=1, description="Design instances to solve.")
    cost: Cost = Field("time", description="What a solve costs.")
    mean: Literal["arithmetic", "geometric"] = Field("arithmetic", description="How costs are averaged.")
    time_limit_s: float = Field(
        60.0, gt=0, allow_inf_nan=False, description="CPU seconds one solve may take."
    )
    solver: SolverSetting = SolverConfig()
    seed: Seed = Field(0, description="SCIP's randomisation seed, and that of the order of a race.")
    control: bool = Field(
        True,
        description="Whether seconds are counted as if the machine had been as busy as for RPB, which the root of each "
        "solve tells.",
    )
    race: bool = Field(
        True, description="Whether a rule is given up once it is known to be worse than the worst elite."
    )
    heat: int = Field(2, ge=1, description="Instances of a race that are solved before the next look at it.")
    cap: float | None = Field(
        4.0,
        gt=1,
        description="In a race a solve is cut short at this many times what the best rule took; it is solved to "
        "the end only if the rule may still win. Null: never.",
    )
    least_cap_s: float = Field(
        1.0, gt=0, description="CPU seconds the best rule counts as at least for `cap`."
    )
