"""BiFE as a library: the names below are its public interface; each is loaded when it is first used."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bife_core.benchmarks.generated import open_benchmark as open_benchmark
    from bife_core.config import PipelineConfig as PipelineConfig
    from bife_core.decisions.collecting import collect_decisions as collect_decisions
    from bife_core.decisions.recorded import Decisions as Decisions
    from bife_core.errors import BifeError as BifeError
    from bife_core.evaluation.interface import compare as compare
    from bife_core.features import FEATURES as FEATURES
    from bife_core.fidelity.low import low_fidelity as low_fidelity
    from bife_core.methods.base import Method as Method
    from bife_core.methods.loading import load_method as load_method, load_rule as load_rule
    from bife_core.methods.scorer import NodeMethod as NodeMethod, Scorer as Scorer
    from bife_core.methods.using import attach as attach, solve as solve
    from bife_core.presets import preset as preset, with_overrides as with_overrides
    from bife_core.rules import (
        CompiledRule as CompiledRule,
        Rejection as Rejection,
        compile_rule as compile_rule,
    )
    from bife_core.sandbox import InProcess as InProcess, WorkerPool as WorkerPool
    from bife_core.scip.branching import BranchingStats as BranchingStats, Budget as Budget, Guard as Guard
    from bife_core.scip.extractor import FeatureExtractor as FeatureExtractor
    from bife_core.scip.solving import SolveResult as SolveResult, SolveSettings as SolveSettings
    from bife_core.store import Store as Store
    from bife_core.study import Evolution as Evolution, Study as Study, create_study as create_study

# The imports above are the one list of names; they are read from this file, since they do not run.
_HOMES = {
    name.name: node.module
    for node in ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
    if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("bife_core.")
    for name in node.names
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bife_core' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
