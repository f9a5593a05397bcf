# What a plugin needs beside the names of `bife_core`, by what one builds. Modules that are not named here or there are
# free to move.

# Any plugin: errors, values, files.
from bife_core.base.errors import ConfigError as ConfigError, GeneratorError as GeneratorError
from bife_core.base.files import write_whole as write_whole
from bife_core.base.places import home as home
from bife_core.base.values import Value as Value, digest_of as digest_of

# Families.
from bife_core.instances.base import Benchmark as Benchmark, Family as Family, Instance as Instance
from bife_core.instances.config import FAMILIES as FAMILIES, InstancesConfig as InstancesConfig
from bife_core.instances.milp import Milp as Milp

# Components and rules.
from bife_core.language.components import COMPONENTS as COMPONENTS, Component as Component
from bife_core.language.features import SIGNED as SIGNED, Group as Group, feature_index as feature_index
from bife_core.language.rules import (
    REFERENCE_RULES as REFERENCE_RULES,
    check_source as check_source,
    complexity as complexity,
    rule_sha as rule_sha,
)
from bife_core.language.rules.literals import literals as literals, with_literals as with_literals

# Measuring: expert samples, F_LF, solves, comparisons.
from bife_core.measure.choices import chosen_rows as chosen_rows
from bife_core.measure.decisions.config import CollectionConfig as CollectionConfig
from bife_core.measure.decisions.nodes import load_nodes as load_nodes, nodes_of as nodes_of
from bife_core.measure.evaluation.summary import EvaluationSummary as EvaluationSummary
from bife_core.measure.low_measures import MEASURES as MEASURES
from bife_core.measure.solves import SolveJob as SolveJob, run_solves as run_solves, solve_job as solve_job
from bife_core.workers import WorkerFailure as WorkerFailure, Workers as Workers

# Searches.
from bife_core.search import (
    SEARCHES as SEARCHES,
    BaseSearch as BaseSearch,
    ReflectionRequest as ReflectionRequest,
    Request as Request,
    Sample as Sample,
    SampleRequest as SampleRequest,
    SolveRequest as SolveRequest,
    TrialRequest as TrialRequest,
    WrittenRequest as WrittenRequest,
    sample_id as sample_id,
    sample_seed as sample_seed,
)
from bife_core.search.answers import Answered as Answered
from bife_core.search.bife import HighOnlySearch as HighOnlySearch
from bife_core.search.config import SearchConfig as SearchConfig
from bife_core.search.population import (
    by_high_fidelity as by_high_fidelity,
    by_low_fidelity as by_low_fidelity,
)

# Generators.
from bife_core.search.generators import (
    GENERATORS as GENERATORS,
    Account as Account,
    Draft as Draft,
    Generator as Generator,
    PromptContext as PromptContext,
)
from bife_core.search.generators.config import GeneratorConfig as GeneratorConfig

# Trackers.
from bife_core.run.stages.records import Record as Record
from bife_core.run.observer import TrackedRun as TrackedRun
from bife_core.run.stages.tracker import Tracker as Tracker

# Methods.
from bife_core.solver.methods.base import METHODS as METHODS, RPB as RPB, AnyMethod as AnyMethod
from bife_core.solver.methods.references import method_of as method_of
from bife_core.solver.methods.scorer import BaseScorer as BaseScorer, ComponentRule as ComponentRule
from bife_core.solver.scip.branching import PLUGIN_NAME as PLUGIN_NAME
from bife_core.solver.scip.cost import Cost as Cost
from bife_core.solver.scip.node import (
    ROW_FEATURES as ROW_FEATURES,
    VARIABLE_FEATURES as VARIABLE_FEATURES,
    Node as Node,
)
from bife_core.solver.scip.python_branching import LpBranchrule as LpBranchrule
from bife_core.solver.scip.settings import SolverConfig as SolverConfig, put_in_charge as put_in_charge

# Methods and hooks of machine code; these names alone load numba.
from bife_core.solver.jit import c_callback as c_callback, jit as jit
from bife_core.solver.scip.compiled import api as api
from bife_core.solver.scip.compiled.layout import free_state as free_state
from bife_core.solver.scip.compiled.memory import (
    call_scorer as call_scorer,
    ensure_room as ensure_room,
    float64_view as float64_view,
    int32_at as int32_at,
    int64_at as int64_at,
    int64_view as int64_view,
)
from bife_core.solver.scip.libscip import (
    call_from_compiled_code as call_from_compiled_code,
    check as check,
    library as library,
    scip_address as scip_address,
)
