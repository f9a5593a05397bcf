"""Named budgets, and how single settings of one are changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args

from bife_core.base.arguments import checked
from bife_core.base.errors import ConfigError
from bife_core.instances.config import FAMILIES
from bife_core.run.config import PipelineConfig
from bife_core.solver.scip.settings import SolverConfig

PresetName = Literal["smoke", "quick", "paper"]

_BUDGETS: Final[Mapping[PresetName, Mapping[str, Mapping[str, Any]]]] = {
    "smoke": {
        "instances": {"size": "tiny"},
        "tune": {"seconds": 0, "instances": 2},
        "collection": {"decisions": 20, "time_limit_s": 20},
        "search": {"samples": 8, "initial": 4, "population": 3},
        "high": {"instances": 2, "cost": "nodes", "time_limit_s": 10},
        # On tiny instances RPB begins within no smaller budget.
        "validation": {"finalists": 2, "instances": 1, "budgets": (0.9,)},
        "evaluation": {"instances": 2, "most_instances": 2, "seeds": (0,), "time_limit_s": 10},
    },
    "quick": {
        "collection": {"decisions": 150, "decisions_per_instance": 25, "share": 0.1},
        "search": {"algorithm": "symbolic", "samples": 32},
        "low": {"tune": 200},
        "high": {"instances": 6},
        "validation": {"finalists": 3, "instances": 6},
        "tune": {"seconds": 120, "instances": 12},
        "evaluation": {"instances": 16, "most_instances": 40, "seeds": (0,)},
    },
    # As published, where a default is better by our evidence: `docs/explanation/method.md` discusses each.
    "paper": {
        "solver": {"name": "paper"},
        "tune": {"seconds": 0},
        "generator": {"prompts": "paper"},
        "search": {"choose": False, "elite_cap": None, "threshold_share": None, "unlike_share": 1},
        "high": {"load_correction": False, "race": False},
        "validation": {"budgets": ()},
        "evaluation": {"most_instances": 20},
    },
}


def preset(name: PresetName, benchmark: str | None = None) -> PipelineConfig:
    """Return a preset: `smoke` for tests (a minute), `quick` for the demo (minutes), `paper` as published.

    Parameters
    ----------
    benchmark : str, optional
        A family whose own costs, limits and sizes are put into the preset, see `Family.settings`; ``"folder"``, of
        which none are known, changes nothing.

    Raises
    ------
    ConfigError
        If no preset or no family has that name.
    """
    if name not in get_args(PresetName):
        raise ConfigError(f"There is no preset {name!r}; choose one of {', '.join(_BUDGETS)}.")
    budget = PipelineConfig.model_validate(_BUDGETS[name])
    if benchmark in (None, "folder"):
        return budget
    family = FAMILIES.find(benchmark)
    return with_overrides(budget, {"instances.benchmark": family.name, **family.settings.get(name, {})})


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
        solver = SolverConfig.model_validate(overrides["solver"]).model_dump()
        overrides = {"solver": solver} | {name: overrides[name] for name in overrides if name != "solver"}
    if not {"high.cost", "evaluation.metric"}.isdisjoint(overrides):
        overrides = {"high.choose_cost": False, **overrides}
    if not {"search.component", "search.samples"}.isdisjoint(overrides):
        overrides = {"search.choose": False, **overrides}
    for dotted, value in overrides.items():
        *path, last = str(dotted).split(".")
        node: Any = data
        for key in path:
            node = node.get(key) if isinstance(node, dict) else None
        if not isinstance(node, dict) or (last not in node and path != ["search", "options"]):
            raise ConfigError(f"There is no setting {dotted!r}; `bife config` lists them all.")
        node[last] = value
    return PipelineConfig.checked(data)
