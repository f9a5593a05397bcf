"""The section `collection` of the configuration."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bife_core.features import FeatureSet
from bife_core.scip.solver import Seed, SolverConfig, SolverSetting
from bife_core.values import Value

RecordedFeatures = Literal["khalil72", "extended", "ecole"]


class CollectionConfig(Value):
    """How strong-branching decisions are recorded."""

    decisions: int = Field(1000, ge=1, description="Decisions to record in all.")
    max_instances: int = Field(200, ge=1, description="Design instances that may be solved for them.")
    decisions_per_instance: int | None = Field(
        None, ge=1, description="Decisions taken from one instance at most; None takes all it gives."
    )
    expert_probability: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Chance that a node is given to the expert; the others are left to pseudocosts, or to the rule of "
        "`under`.",
    )
    under: str = Field(
        "expert",
        description="Who branches where decisions are recorded: 'expert', or a rule (its file, name or models:/ "
        "reference), so that they come from nodes such a rule meets.",
    )
    time_limit_s: float = Field(
        600.0, gt=0, allow_inf_nan=False, description="CPU seconds spent on one instance at most."
    )
    solver: SolverSetting = SolverConfig()
    seed: Seed = Field(0, description="Seed of the choice of expert nodes and of the solver.")
    features: RecordedFeatures = Field(
        "khalil72",
        description="Features that are recorded and that rules may be written with: the 72 of Khalil et al., or "
        "'extended' by what SCIP knows beyond them; 'ecole' has the 72 extracted by the optional package.",
    )

    @property
    def offered(self) -> FeatureSet:
        """Features rules may be written with."""
        return "extended" if self.features == "extended" else "khalil72"
