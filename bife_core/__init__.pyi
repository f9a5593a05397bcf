from .benchmarks.generated import open_benchmark as open_benchmark
from .config import PipelineConfig as PipelineConfig
from .decisions.collecting import collect_decisions as collect_decisions
from .decisions.recorded import Decisions as Decisions
from .errors import BifeError as BifeError
from .evaluation.interface import compare as compare
from .features import FEATURES as FEATURES
from .fidelity.low import low_fidelity as low_fidelity
from .methods.base import Method as Method
from .methods.loading import load_method as load_method, load_rule as load_rule
from .methods.scorer import NodeMethod as NodeMethod, Scorer as Scorer
from .methods.using import attach as attach, solve as solve
from .plots import plot as plot
from .presets import preset as preset, with_overrides as with_overrides
from .rules import (
    CompiledRule as CompiledRule,
    Rejection as Rejection,
    compile_rule as compile_rule,
)
from .sandbox import InProcess as InProcess, WorkerPool as WorkerPool
from .scip.branching import BranchingStats as BranchingStats, Budget as Budget, Guard as Guard
from .scip.extractor import FeatureExtractor as FeatureExtractor
from .scip.solving import SolveResult as SolveResult, SolveSettings as SolveSettings
from .series.series import Series as Series
from .store import Store as Store
from .study import Evolution as Evolution, Study as Study, create_study as create_study
