"""One solve of one model: a path, a method and settings in, a `SolveResult` out."""

from __future__ import annotations

import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import pyscipopt
from pydantic import Field, field_validator

from bife_core.errors import SolverError
from bife_core.rules import CompiledRule
from bife_core.scip.bounds import BoundPoint, BoundTrace, known_bounds, primal_dual_integral, thinned
from bife_core.scip.branching import BranchingStats, attach_scorer
from bife_core.scip.cost import Cost, relative_gap
from bife_core.scip.effort import branching_effort
from bife_core.scip.guard import Guard, as_guard
from bife_core.scip.libscip import library
from bife_core.scip.reading import read_model, scip_errors
from bife_core.scip.root import RootClock
from bife_core.scip.solver import Cuts, Seed, SolverConfig
from bife_core.values import Value

PROVEN: Final = frozenset({"optimal", "infeasible", "unbounded", "inforunbd"})
"""Statuses of a solve that ended with a proof."""

DONE: Final = PROVEN | {"gaplimit"}
"""Statuses of a solve that reached what was asked of it: a proof, or the gap that was enough."""

INTERRUPTED: Final = frozenset({"userinterrupt", "terminate"})
"""SCIP's words for a solve that a signal ended; such a solve says nothing about who branched."""

COUNTERS: Final = (
    "calls",
    "candidates",
    "feature_s",
    "rule_s",
    "callback_s",
    "undecided",
    "rule_errors",
    "overtime",
    "featureless",
)
"""What a `SolveResult` takes over from `BranchingStats`."""


class Attachable(Protocol):
    """What can put itself in charge of branching; a `bife_core.methods.base.Method` is one."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def identity(self) -> str: ...  # noqa: D102

    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> BranchingStats | None: ...  # noqa: D102


class SolveSettings(Value):
    """How a model is solved; the defaults are the paper's (section Experiments, Implementation).

    Examples
    --------
    >>> SolveSettings.by(SolverConfig.model_validate("default"), seed=1).restarts
    True
    """

    time_limit_s: float | None = Field(None, gt=0, description="Seconds on `clock`; None is no limit.")
    node_limit: int | None = Field(None, ge=1, description="Branch-and-bound nodes; None is no limit.")
    memory_limit_mb: float | None = Field(None, gt=0, description="Megabytes SCIP may use; None is no limit.")
    seed: Seed = Field(0, description="Seed of SCIP's randomisation.")
    cuts: Cuts = Field("root", description="Where cutting planes are separated.")
    restarts: bool = Field(False, description="Whether SCIP may restart.")
    clock: Literal["cpu", "wall"] = Field(
        "cpu",
        description="Which clock limits and SCIP's times are on; SCIP's of the CPU leaves out what the system works.",
    )
    guard: Guard | None = Field(
        None, description="When a rule has to step aside for RPB; None lets it branch throughout."
    )
    start: tuple[float, float] | None = Field(
        None,
        description="Dual and primal bound that the primal-dual integral starts from; None takes the objective's range "
        "over the bounds of the variables.",
    )
    params: dict[str, bool | int | float | str] = Field(
        default_factory=dict, description="Further SCIP parameters, applied last."
    )

    @field_validator("guard", mode="before")
    @classmethod
    def _switched(cls, given: Any) -> Any:
        return as_guard(given) if isinstance(given, bool) else given

    @classmethod
    def by(cls, solver: SolverConfig, **settings: Any) -> SolveSettings:
        """Return settings that set SCIP up in the given way.

        What is given here wins over the solver's parameters: limits, the seed, the clock and further parameters.
        """
        given = {"randomization/", "timing/clocktype"}
        given |= {"limits/time"} if settings.get("time_limit_s") is not None else set()
        given |= {"limits/gap"} if solver.gap else set()
        own = {name: value for name, value in solver.params.items() if not name.startswith(tuple(given))}
        own |= {"limits/gap": solver.gap} if solver.gap else {}
        params = own | settings.pop("params", {})
        return cls(cuts=solver.cuts, restarts=solver.restarts, params=params, **settings)


class SolveResult(Value):
    """What one solve gave.

    Attributes
    ----------
    instance, method : str
        Name of the model file, and of the method.
    rule_sha : str or None
        Hash of the rule or scorer; None for a built-in of SCIP.
    status : str
        SCIP's word: optimal, infeasible, unbounded, timelimit, nodelimit, userinterrupt, ...
    cpu_s, wall_s : float
        Seconds in `optimize`, presolving included and reading not; CPU seconds of the solving thread, with those of the
        system, which SCIP's clock and so a time limit leave out.
    root_s : float or None
        CPU seconds up to the last LP of the root: the same work under every branching rule; None where there was no LP.
    gap : float
        Between the bounds at the end, see `relative_gap`; 0 after a proof.
    primal_bound, dual_bound : float or None
        In the sense of the model's objective; None while infinite.
    primal_dual_integral : float
        SCIP's own integral of the gap in percent over seconds.
    bound_integral : float or None
        Integral of the distance of the bounds up to the time limit, see `bife_core.scip.bounds`; None while it
        is infinite.
    bounds : tuple of BoundPoint
        Both bounds over time, thinned.
    fair_nodes : int or None
        Nodes plus those that side effects of branching saved, see `bife_core.scip.effort`.
    branching_s : float or None
        Seconds spent in branching: the callback's CPU seconds of a rule, SCIP's own clock for a built-in
        method; None in results older than this counter.
    calls, candidates : int
        Branchings a rule was asked for, and candidates it scored; 0 for a built-in of SCIP.
    feature_s, rule_s, callback_s : float
        CPU seconds spent in features, in the rule and in the whole callback.
    undecided, rule_errors, overtime, featureless : int
        Branchings that fell back to SCIP's default because the rule gave no usable number, raised, had
        used up its guard's share of time, or could not be given features; as in `BranchingStats`.
    machine : str
        Digest of the machine it ran on, see `bife_core.machine`; empty where it was not noted.
    """

    instance: str
    method: str
    rule_sha: str | None = None
    seed: int
    status: str
    nodes: int
    lp_iterations: int
    cpu_s: float
    root_s: float | None = None
    wall_s: float
    gap: float
    primal_bound: float | None
    dual_bound: float | None
    primal_dual_integral: float
    bound_integral: float | None = None
    bounds: tuple[BoundPoint, ...] = ()
    fair_nodes: int | None = None
    branching_s: float | None = None
    calls: int = 0
    candidates: int = 0
    feature_s: float = 0.0
    rule_s: float = 0.0
    callback_s: float = 0.0
    undecided: int = 0
    rule_errors: int = 0
    overtime: int = 0
    featureless: int = 0
    versions: dict[str, str]
    machine: str = ""

    @property
    def finished(self) -> bool:
        """Whether the solve reached a proof, or the gap that was enough, rather than a limit of what it may take."""
        return self.status in DONE

    @property
    def proven(self) -> bool:
        """Whether the solve ended with a proof."""
        return self.status in PROVEN

    @property
    def fallbacks(self) -> int:
        """Branchings on LP solutions that the rule did not decide."""
        return self.undecided + self.rule_errors + self.overtime + self.featureless

    def cost(self, kind: Cost) -> float:
        """Return the cost of this solve, not negative and lower is better.

        The primal-dual integral is that of the bounds' distance; SCIP's own stands in for it where that is infinite.
        """
        match kind:
            case "time":
                return self.cpu_s
            case "nodes":
                return float(self.nodes)
            case "lp_iterations":
                return float(self.lp_iterations)
            case "gap":
                return self.gap
            case "primal_dual_integral":
                return self.primal_dual_integral if self.bound_integral is None else self.bound_integral


def versions() -> dict[str, str]:
    """Return the versions a result depends on."""
    try:
        own = version("bife-branching")
    except PackageNotFoundError:  # used from a source tree that is not installed
        own = "source"
    return {
        "bife": own,
        "scip": library().version,
        "pyscipopt": pyscipopt.__version__,
        "python": platform.python_version(),
    }


def apply(settings: SolveSettings, model: pyscipopt.Model) -> None:
    """Set SCIP's parameters as `settings` say.

    Raises
    ------
    SolverError
        If SCIP does not know a parameter or refuses its value.
    """
    params: dict[str, bool | int | float | str] = {
        "randomization/randomseedshift": settings.seed,
        # Seed 0 leaves the model as its file has it, for that is how people solve it; others permute rows and columns.
        "randomization/permutationseed": settings.seed,
        "randomization/permutevars": settings.seed > 0,
        "randomization/lpseed": settings.seed,
        "timing/clocktype": 1 if settings.clock == "cpu" else 2,
    }
    if settings.cuts == "root":
        params["separating/maxrounds"] = 0
    if not settings.restarts:
        params["presolving/maxrestarts"] = 0
    if settings.time_limit_s is not None:
        params["limits/time"] = settings.time_limit_s
    if settings.node_limit is not None:
        params["limits/nodes"] = settings.node_limit
    if settings.memory_limit_mb is not None:
        params["limits/memory"] = settings.memory_limit_mb
    params.update(settings.params)
    complaints: list[str] = []
    refused: Exception | None = None
    with scip_errors(complaints):
        for name, value in params.items():
            try:
                model.setParam(name, _fitting(value, model.getParam(name)))
            except Exception as error:  # noqa: BLE001 - PySCIPOpt raises plain exceptions; SCIP prints the cause
                refused = error
                break
    if refused is not None:
        reason = str(complaints[0] if complaints else refused).strip(" .!'")
        raise SolverError(f"SCIP does not take {name} = {value!r}: {reason}.") from refused


def _fitting(value: bool | int | float | str, present: bool | int | float | str) -> bool | int | float | str:
    """Return a value for a parameter that has the `present` one; SCIP's own TRUE and FALSE are truth values too."""
    if isinstance(present, bool) and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if isinstance(present, int) and isinstance(value, float) and not value.is_integer():
        raise ValueError("a whole number is expected")
    return value


def optimize(model: pyscipopt.Model, doing: str) -> None:
    """Call ``model.optimize()``.

    Raises
    ------
    SolverError
        If SCIP ends with an error code, with what it was `doing`, such as ``"solving lseu.mps"``.
    """
    try:
        model.optimize()
    except Exception as error:  # PySCIPOpt raises bare Exception for SCIP's return codes
        reason = str(error).removeprefix("SCIP: ").rstrip("!. ")
        raise SolverError(f"SCIP failed while {doing}: {reason}.") from error


def _finite(model: pyscipopt.Model, value: float) -> float | None:
    return None if model.isInfinity(abs(value)) else value


def solve_instance(
    path: Path, method: CompiledRule | Attachable, settings: SolveSettings, *, show_log: bool = False
) -> SolveResult:
    """Solve a file with a method; `bife_core.solve` describes it, and takes references too.

    Raises
    ------
    InstanceError
        If the instance cannot be read.
    SolverError
        If SCIP refuses a parameter or fails while solving.
    """
    model = read_model(path)
    apply(settings, model)
    guard = settings.guard or False
    stats = (
        attach_scorer(model, method, guard)
        if isinstance(method, CompiledRule)
        else method.attach(model, guard)
    )
    if show_log:
        model.hideOutput(False)
    known = settings.start or known_bounds(model)
    sha = method.sha if isinstance(method, CompiledRule) else None if stats is None else method.identity
    trace, root = BoundTrace.attach(model), RootClock.attach(model)
    try:
        cpu, wall = time.thread_time(), time.perf_counter()
        root.start()
        optimize(model, f"solving {path.name} under {method.name}")
        cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall

        status = model.getStatus()
        primal, dual = _finite(model, model.getPrimalbound()), _finite(model, model.getDualbound())
        trace.keep()
        # Nothing is left to close once an optimum, or the lack of one, is proven.
        until = (
            model.getSolvingTime() if status in PROVEN else settings.time_limit_s or model.getSolvingTime()
        )
        effort = branching_effort(model)
        return SolveResult(
            instance=path.name,
            method=method.name,
            rule_sha=sha,
            seed=settings.seed,
            status=status,
            nodes=model.getNTotalNodes(),
            lp_iterations=model.getNLPIterations(),
            cpu_s=cpu,
            root_s=root.root_s,
            wall_s=wall,
            gap=0.0 if status in PROVEN else relative_gap(primal, dual),
            primal_bound=primal,
            dual_bound=dual,
            primal_dual_integral=model.getPrimalDualIntegral(),
            bound_integral=primal_dual_integral(trace.points, known, until),
            bounds=thinned(trace.points),
            fair_nodes=effort.fair_nodes(model.getNTotalNodes()),
            branching_s=effort.seconds if stats is None else stats.callback_s,
            **({} if stats is None else _counters(stats)),
            versions=versions(),
        )
    finally:
        trace.release()
        root.model = None


def _counters(stats: BranchingStats) -> dict[str, Any]:
    return {name: getattr(stats, name) for name in COUNTERS}
