"""The section `collection` of the configuration."""

from __future__ import annotations

from pydantic import Field

from bife_core.base.values import Positive, Value


class CollectionConfig(Value):
    """How strong-branching decisions are recorded."""

    decisions: int = Field(1000, ge=1, description="Decisions to record in all.")
    max_instances: int = Field(200, ge=1, description="Collection instances that may be solved for them.")
    decisions_per_instance: int | None = Field(
        None, ge=1, description="Decisions taken from one instance at most; None takes all it gives."
    )
    share: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of nodes that are recorded, more where trees are small; pseudocosts branch at the others.",
    )
    nodes: bool = Field(False, description="Whether to record nodes as bipartite graphs too, for networks.")
    time_limit_s: Positive = Field(600.0, description="CPU seconds spent on one instance at most.")
