"""BiFE as a library: features, rules, decisions, fidelities, search and solves, without Prefect or MLflow.

The names below are the public interface; they load what they need when first used, so importing the package costs
nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bife_core.errors import BifeError
    from bife_core.features import FEATURES
    from bife_core.fidelity.low import low_fidelity
    from bife_core.methods.base import Method
    from bife_core.methods.loading import load_method
    from bife_core.rules import CompiledRule, Rejection, compile_rule, load_rule
    from bife_core.scip.branching import BranchingStats, attach
    from bife_core.scip.extractor import FeatureExtractor
    from bife_core.scip.guard import Guard
    from bife_core.scip.solving import SolveResult, SolveSettings, solve

_HOMES = {
    "FEATURES": "bife_core.features",
    "BifeError": "bife_core.errors",
    "BranchingStats": "bife_core.scip.branching",
    "CompiledRule": "bife_core.rules",
    "FeatureExtractor": "bife_core.scip.extractor",
    "Guard": "bife_core.scip.guard",
    "Method": "bife_core.methods.base",
    "Rejection": "bife_core.rules",
    "SolveResult": "bife_core.scip.solving",
    "SolveSettings": "bife_core.scip.solving",
    "attach": "bife_core.scip.branching",
    "compile_rule": "bife_core.rules",
    "load_method": "bife_core.methods.loading",
    "load_rule": "bife_core.rules",
    "low_fidelity": "bife_core.fidelity.low",
    "solve": "bife_core.scip.solving",
}

__all__ = [
    "FEATURES",
    "BifeError",
    "BranchingStats",
    "CompiledRule",
    "FeatureExtractor",
    "Guard",
    "Method",
    "Rejection",
    "SolveResult",
    "SolveSettings",
    "attach",
    "compile_rule",
    "load_method",
    "load_rule",
    "low_fidelity",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bife_core' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
