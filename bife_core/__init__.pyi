from .base.errors import BifeError as BifeError
from .instances.generated import open_benchmark as open_benchmark
from .language.features import FEATURES as FEATURES
from .language.rules import CompiledRule as CompiledRule, Rejection as Rejection, compile_rule as compile_rule
from .measure.decisions.collection import collect_decisions as collect_decisions
from .measure.decisions.recorded import Decisions as Decisions
from .measure.evaluation.compare import compare as compare
from .measure.low import low_fidelity as low_fidelity
from .run.config import PipelineConfig as PipelineConfig
from .run.presets import preset as preset, with_overrides as with_overrides
from .run.show.plots import plot as plot
from .run.study import (
    SearchOutcome as SearchOutcome,
    Study as Study,
    archived as archived,
    create_study as create_study,
)
from .solver.methods.attach import attach as attach, solve as solve
from .solver.methods.base import Method as Method
from .solver.methods.configuration import Configuration as Configuration
from .solver.methods.references import load_method as load_method, load_rule as load_rule
from .solver.methods.scorer import NodeMethod as NodeMethod, Scorer as Scorer
from .solver.methods.used import Uses as Uses, used as used
from .solver.scip.branching import BranchingStats as BranchingStats, Budget as Budget, Guard as Guard
from .solver.scip.extractor import FeatureExtractor as FeatureExtractor
from .solver.scip.solve import SolveResult as SolveResult, SolveSettings as SolveSettings
from .store import Store as Store
from .tuning.series.series import Series as Series
from .workers import InProcess as InProcess, WorkerPool as WorkerPool
