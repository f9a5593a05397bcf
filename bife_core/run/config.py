"""The whole configuration, one model for command line, form and tracker.

Each section is defined in the package that reads it; `docs/explanation/method.md` discusses each default.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from bife_core.base.values import Value
from bife_core.instances.config import InstancesConfig as InstancesConfig
from bife_core.measure.config import (
    EvaluationConfig as EvaluationConfig,
    HighFidelityConfig as HighFidelityConfig,
    LowFidelityConfig as LowFidelityConfig,
    ValidationConfig as ValidationConfig,
)
from bife_core.measure.decisions.config import CollectionConfig as CollectionConfig
from bife_core.search.config import SEARCHES, SearchConfig as SearchConfig
from bife_core.search.generators.config import (
    BudgetConfig as BudgetConfig,
    GeneratorConfig as GeneratorConfig,
)
from bife_core.solver.scip.settings import SolverConfig, SolverSetting
from bife_core.tuning.config import TuneConfig as TuneConfig
from bife_core.workers.cluster import RunnerConfig as RunnerConfig


class PipelineConfig(Value):
    """Everything one run from instances to a registered rule needs."""

    instances: InstancesConfig = InstancesConfig()
    solver: SolverSetting = SolverConfig()
    tune: TuneConfig = TuneConfig()
    collection: CollectionConfig = CollectionConfig()
    search: SearchConfig = SearchConfig()
    low: LowFidelityConfig = LowFidelityConfig()
    high: HighFidelityConfig = HighFidelityConfig()
    generator: GeneratorConfig = GeneratorConfig()
    validation: ValidationConfig = ValidationConfig()
    budget: BudgetConfig = BudgetConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    approval: Literal["gate", "person"] = Field(
        "gate",
        description="Who makes a registered rule champion: the statistical gate alone, or a person after it.",
    )
    runner: RunnerConfig = RunnerConfig()

    @model_validator(mode="after")
    def _rules_are_asked_for(self) -> PipelineConfig:
        if self.generator.kind != "offline" and self._found_by_search:
            raise ValueError(
                f"the search {self.search.algorithm!r} fits rules and asks no generator to write any: with the "
                f"generator {self.generator.kind!r} choose the search 'bife' or another"
            )
        return self

    @property
    def origin_of_rules(self) -> str:
        """Where the rules of a search come from, in a few words."""
        return self._found_by_search or self.generator.kind

    @property
    def _found_by_search(self) -> str:
        return getattr(SEARCHES.find(self.search.algorithm), "origin", "")
