"""BiFE as a library: the names below are its public interface; each is loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bife_core.benchmarks.generated import open_benchmark
    from bife_core.config import PipelineConfig
    from bife_core.decisions.collecting import collect_decisions
    from bife_core.decisions.recorded import Decisions
    from bife_core.errors import BifeError
    from bife_core.evaluation.interface import compare
    from bife_core.features import FEATURES
    from bife_core.fidelity.low import low_fidelity
    from bife_core.methods.base import Method
    from bife_core.methods.loading import load_method, load_rule
    from bife_core.methods.using import attach, solve
    from bife_core.presets import preset, with_overrides
    from bife_core.rules import CompiledRule, Rejection, compile_rule
    from bife_core.sandbox import InProcess, WorkerPool
    from bife_core.scip.branching import BranchingStats, Budget, Guard
    from bife_core.scip.extractor import FeatureExtractor
    from bife_core.scip.solving import SolveResult, SolveSettings
    from bife_core.store import Store
    from bife_core.study import Evolution, Study, create_study, evolve

_HOMES = {
    "BifeError": "bife_core.errors",
    "BranchingStats": "bife_core.scip.branching",
    "Budget": "bife_core.scip.branching",
    "CompiledRule": "bife_core.rules",
    "Decisions": "bife_core.decisions.recorded",
    "Evolution": "bife_core.study",
    "FEATURES": "bife_core.features",
    "FeatureExtractor": "bife_core.scip.extractor",
    "Guard": "bife_core.scip.branching",
    "InProcess": "bife_core.sandbox",
    "Method": "bife_core.methods.base",
    "PipelineConfig": "bife_core.config",
    "Rejection": "bife_core.rules",
    "SolveResult": "bife_core.scip.solving",
    "SolveSettings": "bife_core.scip.solving",
    "Store": "bife_core.store",
    "Study": "bife_core.study",
    "WorkerPool": "bife_core.sandbox",
    "attach": "bife_core.methods.using",
    "collect_decisions": "bife_core.decisions.collecting",
    "compare": "bife_core.evaluation.interface",
    "compile_rule": "bife_core.rules",
    "create_study": "bife_core.study",
    "evolve": "bife_core.study",
    "load_method": "bife_core.methods.loading",
    "load_rule": "bife_core.methods.loading",
    "low_fidelity": "bife_core.fidelity.low",
    "open_benchmark": "bife_core.benchmarks.generated",
    "preset": "bife_core.presets",
    "solve": "bife_core.methods.using",
    "with_overrides": "bife_core.presets",
}

__all__ = [
    "FEATURES",
    "BifeError",
    "BranchingStats",
    "Budget",
    "CompiledRule",
    "Decisions",
    "Evolution",
    "FeatureExtractor",
    "Guard",
    "InProcess",
    "Method",
    "PipelineConfig",
    "Rejection",
    "SolveResult",
    "SolveSettings",
    "Store",
    "Study",
    "WorkerPool",
    "attach",
    "collect_decisions",
    "compare",
    "compile_rule",
    "create_study",
    "evolve",
    "load_method",
    "load_rule",
    "low_fidelity",
    "open_benchmark",
    "preset",
    "solve",
    "with_overrides",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bife_core' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
