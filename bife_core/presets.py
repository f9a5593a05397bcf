"""Named budgets, and how single settings of one are changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from bife_core.arguments import checked
from bife_core.benchmarks.config import FAMILIES
from bife_core.config import (
    CollectionConfig,
    EvaluationConfig,
    GeneratorConfig,
    HighFidelityConfig,
    InstancesConfig,
    LowFidelityConfig,
    PipelineConfig,
    SearchConfig,
    ValidationConfig,
)
from bife_core.errors import ConfigError
from bife_core.scip.solver import SolverConfig

PresetName = Literal["smoke", "quick", "paper"]


def preset(name: PresetName, benchmark: str | None = None) -> PipelineConfig:
    """Return a named budget: `smoke` for tests (seconds), `quick` for the demo (minutes), `paper` as published.

    Parameters
    ----------
    name : str
        The budget.
    benchmark : str, optional
        A family whose own costs, limits and sizes are put into the budget, see `Family.settings`; ``"folder"``, of
        which none are known, changes nothing.

    Raises
    ------
    ConfigError
        If no preset or no family has that name.
    """
    if benchmark in (None, "folder"):
        return _budget(name)
    family = FAMILIES.find(benchmark)
    own = {"instances.benchmark": family.name, **family.settings.get(name, {})}
    return with_overrides(_budget(name), own)


def _budget(name: PresetName) -> PipelineConfig:
    if name == "paper":
        # As published: seconds are those of the clock, every rule that earns solves is solved to the end, nothing keeps
        # tau down, and any two rules are crossed; prompts are the plain ones, an answer that is no rule is a failed
        # sample, and RPB has no budget.
        return PipelineConfig(
            solver=SolverConfig(name="paper"),
            generator=GeneratorConfig(prompts="paper"),
            search=SearchConfig(elite_cap=None, threshold_share=None, unlike_share=1),
            high=HighFidelityConfig(load_correction=False, race=False),
            validation=ValidationConfig(budgets=()),
            evaluation=EvaluationConfig(most_instances=20),
        )
    if name == "quick":
        return PipelineConfig(
            collection=CollectionConfig(decisions=150, decisions_per_instance=25),
            search=SearchConfig(method="symbolic", samples=32),
            low=LowFidelityConfig(tune=200),
            high=HighFidelityConfig(instances=6),
            validation=ValidationConfig(finalists=3, instances=6),
            evaluation=EvaluationConfig(instances=16, most_instances=40, seeds=(0, 1), tuned_rpb=0.15),
        )
    if name == "smoke":
        return PipelineConfig(
            instances=InstancesConfig(size="tiny"),
            collection=CollectionConfig(decisions=20, time_limit_s=20),
            search=SearchConfig(samples=8, initial=4, population=3),
            high=HighFidelityConfig(instances=2, cost="nodes", time_limit_s=10),
            # On tiny instances RPB begins within no smaller budget.
            validation=ValidationConfig(finalists=2, instances=1, budgets=(0.9,)),
            evaluation=EvaluationConfig(
                instances=2, most_instances=2, seeds=(0,), time_limit_s=10, tuned_rpb=0
            ),
        )
    raise ConfigError(f"There is no preset {name!r}; choose one of smoke, quick, paper.")


@checked
def with_overrides(config: PipelineConfig, overrides: dict[str, Any]) -> PipelineConfig:
    """Return `config` with dotted keys replaced, such as ``{"search.samples": 20}``.

    Raises
    ------
    ConfigError
        If a key does not exist or a value does not fit.
    """
    data = config.model_dump()
    if isinstance(overrides.get("solver"), str | Path):  # by its name; a gap may be given beside it
        named = SolverConfig.model_validate(overrides["solver"]).model_dump()
        overrides = {"solver": named} | {name: given for name, given in overrides.items() if name != "solver"}
    for dotted, value in overrides.items():
        *path, last = str(dotted).split(".")
        node: Any = data
        for key in path:
            node = node.get(key) if isinstance(node, dict) else None
        if not isinstance(node, dict) or (last not in node and path != ["search", "options"]):
            raise ConfigError(f"There is no setting {dotted!r}; `bife config` lists them all.")
        node[last] = value
    return PipelineConfig.checked(data)
