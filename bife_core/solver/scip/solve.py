"""What a solve is asked and what it gives: settings, SCIP's parameters, the result, and whether results agree."""

from __future__ import annotations

import ctypes
import platform
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, Self

import pyscipopt
from pydantic import ConfigDict, Field, field_validator

from bife_core.base.errors import SolverError
from bife_core.base.values import Value
from bife_core.solver.scip.branching import FALLBACKS, Guard, as_guard
from bife_core.solver.scip.cost import Cost
from bife_core.solver.scip.exactness import NOT_LINEAR
from bife_core.solver.scip.libscip import scip_errors, scip_version, total
from bife_core.solver.scip.settings import TRUTHS, Parameter, Seed, SolverConfig, as_given

PROVEN: Final = frozenset({"optimal", "infeasible", "unbounded", "inforunbd"})
"""Statuses of a solve that ended with a proof."""

DONE: Final = PROVEN | {"gaplimit"}
"""Statuses of a solve that reached what was asked of it: a proof, or the gap that was enough."""

_LP_SOLVED: Final = pyscipopt.SCIP_EVENTTYPE.FIRSTLPSOLVED | pyscipopt.SCIP_EVENTTYPE.LPSOLVED

_sigaction: Final = ctypes.CDLL(None).sigaction
_SIGACTION_BYTES: Final = 256
"""More than a C `struct sigaction` takes anywhere."""

RECORDED: Final = 3
"""Raise this when a `SolveResult` says more, less or something else: stored solves of another version are not found."""

INTERRUPTED: Final = frozenset({"userinterrupt", "terminate"})
"""SCIP's words for a solve that a signal ended; such a solve says nothing about the method."""


TOLERANCE: Final = 1e-5
"""Part of an objective, or of 1 if that is more, by which SCIP's own tests let two optima differ (`check/check.awk`).

SCIP takes rows as met to within 1e-6, so under another seed RPB itself ends more than that away from its optimum.
"""


class SolveSettings(Value):
    """How an instance is solved: by default as SCIP comes, to the end."""

    model_config = ConfigDict(allow_inf_nan=False)

    time_limit_s: float | None = Field(
        None,
        gt=0,
        le=1e20,
        description="CPU seconds on SCIP's clock, which leaves out those of the system and is looked at between steps: "
        "a solve may take, and then costs, more. None is no limit.",
    )
    node_limit: int | None = Field(None, ge=1, description="Branch-and-bound nodes; None is no limit.")
    objective_limit: float | None = Field(
        None, description="Solutions with a worse objective do not count; None is no limit."
    )
    seed: Seed = Field(0, description="Seed of SCIP's randomisation.")
    solver: SolverConfig = Field(
        SolverConfig(), description="'default', 'paper', or a settings file of SCIP (.set)."
    )
    guard: Guard | None = Field(
        None, description="When a rule has to step aside for RPB; None lets it branch throughout."
    )
    params: dict[str, Parameter] = Field(
        default_factory=dict, description="Further SCIP parameters, applied last."
    )

    @property
    def under(self) -> SolverConfig:
        """SCIP's settings with `params` among them, but for limits: those only say when a solve ends."""
        further = {name: value for name, value in self.params.items() if not name.startswith("limits/")}
        return self.solver.model_copy(update={"params": self.solver.params | further})

    @field_validator("guard", mode="before")
    @classmethod
    def _switched(cls, guard: Any) -> Any:
        return as_guard(guard) if isinstance(guard, bool) else guard


class SolveResult(Value):
    """What one solve gave.

    Attributes
    ----------
    instance, digest : str
        What the instance is called, and the digest of its content; empty where it was not taken.
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
        None while infinite.
    lp_iterations, strong_branching_iterations : int
        Simplex iterations at nodes and in diving, probing and strong branching, and those of strong branching alone.
        SCIP reports none of conflict analysis, of the sub-MIPs of heuristics and of idempotent strong branching.
    violation : str or None
        Which linear row the best solution misses with its integers rounded, and by how much, such as ``r3 by 3``.
    primal_dual_integral : float
        SCIP's integral of the gap in percent over the seconds of its clock.
    fair_nodes : int or None
        Nodes plus those that side effects of branching saved (Gamrath and Schubert).
    branching_s : float or None
        Seconds spent in branching: CPU seconds of a rule's callback, SCIP's own clock for its branching rules.
    presolving_s, separation_s, heuristics_s, propagation_s : float or None
        Seconds on SCIP's own clocks: of heuristics with their LPs and sub-MIPs, of propagation at nodes alone.
    calls, candidates, feature_s, rule_s, callback_s, undecided, rule_errors, overtime, featureless, within_budget
        As in `BranchingStats`; 0 for a built-in of SCIP.
    machine : str
        Digest of the machine it ran on, see `bife_core.solver.machine`; empty where it was not noted.
    """

    instance: str
    digest: str = ""
    method: str
    rule_sha: str | None = None
    seed: int
    status: str
    nodes: int
    lp_iterations: int
    strong_branching_iterations: int = 0
    cpu_s: float
    root_s: float | None = None
    wall_s: float
    gap: float
    primal_bound: float | None
    dual_bound: float | None
    violation: str | None = None
    primal_dual_integral: float
    fair_nodes: int | None = None
    branching_s: float | None = None
    presolving_s: float | None = None
    separation_s: float | None = None
    heuristics_s: float | None = None
    propagation_s: float | None = None
    calls: int = 0
    candidates: int = 0
    feature_s: float = 0.0
    rule_s: float = 0.0
    callback_s: float = 0.0
    undecided: int = 0
    rule_errors: int = 0
    overtime: int = 0
    featureless: int = 0
    within_budget: int = 0
    versions: dict[str, str]
    machine: str = ""

    @property
    def caution(self) -> str | None:
        """What to know of the best solution, as a sentence."""
        advice = "with its integers rounded. SCIP's tolerances allow it; solve with numerics/feastol = 1e-9"
        if self.violation == NOT_LINEAR:
            advice = "by SCIP's own check; solve with presolving/maxrounds = 0"
        why = f"the best solution misses {self.violation} {advice}"
        return None if self.violation is None else f"{self.instance}: {why}."

    @property
    def finished(self) -> bool:
        """Whether the solve reached a proof, or the gap that was enough, rather than a limit of what it may take."""
        return self.status in DONE

    @property
    def proven(self) -> bool:
        """Whether the solve ended with a proof, of an optimum that its integers have without SCIP's tolerances."""
        return self.status in PROVEN and self.violation is None

    @property
    def fallbacks(self) -> int:
        """Branchings on LP solutions that the rule did not decide."""
        return sum(getattr(self, counter) for counter in FALLBACKS)

    def cost(self, kind: Cost) -> float:
        """Return the cost of this solve, not negative and lower is better."""
        return float(getattr(self, "cpu_s" if kind == "time" else kind))


def disagree(a: SolveResult, b: SolveResult) -> bool:
    """Whether two solves of one instance prove different things; one without a proof contradicts nothing."""
    if not (a.proven and b.proven):
        return False
    if a.status != b.status:
        # SCIP may stop at "infeasible or unbounded", which contradicts neither.
        return {a.status, b.status} not in ({"inforunbd", "infeasible"}, {"inforunbd", "unbounded"})
    if a.primal_bound is None or b.primal_bound is None:
        return a.primal_bound is not b.primal_bound
    scale = max(1.0, abs(a.primal_bound), abs(b.primal_bound))
    return abs(a.primal_bound - b.primal_bound) > TOLERANCE * scale


def cautions(results: Iterable[SolveResult]) -> tuple[str, ...]:
    """Return a sentence per instance whose best solution, of whatever solve, holds within SCIP's tolerances alone."""
    found = {one.digest or one.instance: one.caution for one in results if one.caution is not None}
    return tuple(found.values())


def contradictions(results: Iterable[SolveResult]) -> tuple[str, ...]:
    """Return a sentence per instance of which two solves prove different things."""
    solves, found = list(results), dict[str, str]()
    for result, sentence in zip(solves, refuted(solves, [True] * len(solves)), strict=True):
        if sentence is not None:
            found.setdefault(result.digest or result.instance, sentence)
    return tuple(found.values())


def refuted(results: Sequence[SolveResult | None], trusted: Sequence[bool]) -> list[str | None]:
    """Return for each solve why its proof is wrong, or None: the first `trusted` proof of its instance differs."""
    proven: dict[str, SolveResult] = {}
    for result, certain in zip(results, trusted, strict=True):
        if certain and result is not None and result.proven:
            proven.setdefault(result.digest or result.instance, result)
    wrong: list[str | None] = [None] * len(results)
    for place, b in enumerate(results):
        a = None if b is None else proven.get(b.digest or b.instance)
        if a is not None and b is not None and disagree(a, b):
            ends = (f"{one.method} ended {one.status} with {one.primal_bound}" for one in (a, b))
            wrong[place] = f"{a.instance}: {', '.join(ends)}."
    return wrong


def versions() -> dict[str, str]:
    """Return the versions a result depends on."""
    try:
        own = version("bife-branching")
    except PackageNotFoundError:  # used from a source tree that is not installed
        own = "source"
    return {
        "bife": own,
        "scip": scip_version(),
        "pyscipopt": pyscipopt.__version__,
        "python": platform.python_version(),
    }


def parameters(settings: SolveSettings) -> dict[str, Parameter]:
    """Return the parameters of SCIP that settings set; limits, seed and gap win over those of a settings file."""
    effective = settings.solver.effective
    params = {name: value for name, value in effective.items() if not name.startswith("randomization/")}
    params |= {
        "randomization/randomseedshift": settings.seed,
        # Seed 0 leaves the instance as its file has it, for that is how people solve it; others permute it.
        "randomization/permutationseed": settings.seed,
        "randomization/permutevars": settings.seed > 0,
        "randomization/lpseed": settings.seed,
        "timing/clocktype": 1,  # of the CPU
    }
    if settings.time_limit_s is not None:
        params["limits/time"] = settings.time_limit_s
    if settings.node_limit is not None:
        params["limits/nodes"] = settings.node_limit
    return params | settings.params


def apply(settings: SolveSettings, model: pyscipopt.Model) -> None:
    """Set SCIP's parameters and limits; a `SolverError` says if it does not know one or refuses its value."""
    for name, value in parameters(settings).items():
        with scip_errors(f"SCIP does not take {name} = {value!r}"):
            truths = TRUTHS if isinstance(model.getParam(name), bool) else {}
            model.setParam(name, truths.get(str(value).lower(), value))
            if not as_given(value, taken := model.getParam(name)):
                raise ValueError(f"it would be {taken!r}")
    if settings.objective_limit is not None:
        model.setObjlimit(settings.objective_limit)


def optimize(model: pyscipopt.Model, doing: str) -> None:
    """Call ``model.optimize()``; a `SolverError` says what SCIP was `doing` when it failed."""
    ctrl_c = ctypes.create_string_buffer(_SIGACTION_BYTES)
    _sigaction(signal.SIGINT, None, ctrl_c)
    try:
        with scip_errors(f"SCIP failed while {doing}"):
            model.optimize()
    except (SolverError, KeyboardInterrupt):
        model.to_ptr(True)  # SCIP frees no model that failed while it was set up, and would only complain
        raise
    finally:
        _sigaction(signal.SIGINT, ctrl_c, None)  # SCIP keeps its own handler where a solve fails


class RootClock(pyscipopt.Eventhdlr):  # type: ignore[misc]
    """Reads this thread's clock whenever an LP is solved before the first branching: the same work under every rule.

    `root_s` are CPU seconds up to the last of them; None while there was none. What RPB does after it only tightened
    bounds, and has the LP of the root solved again, is not the root's.
    """

    model: pyscipopt.Model
    root_s: float | None = None
    _began_s = 0.0
    _listens = False

    @classmethod
    @contextmanager
    def over(cls, model: pyscipopt.Model) -> Iterator[Self]:
        """Give a clock for the solve of `model` made inside, and free the solved problem afterwards.

        Model and handler hold each other, so its memory would wait for the garbage collector.
        """
        clock = cls()
        model.includeEventhdlr(clock, "bife_root", "reads the clock at LPs of the root")
        try:
            yield clock
        finally:
            with suppress(Exception), scip_errors():  # SCIP frees no solve that failed while it was set up
                model.freeProb()
            clock.model = None

    def eventinit(self) -> None:
        """Begin, what came before the solve, such as compiling a rule, left out; ask SCIP for events of solved LPs."""
        self._began_s = time.thread_time()
        self.model.catchEvent(_LP_SOLVED, self)
        self._listens = True

    def eventexit(self) -> None:
        """Ask no longer."""
        if self._listens:
            self.model.dropEvent(_LP_SOLVED, self)
            self._listens = False

    def eventexec(self, event: object) -> None:
        """Read the clock, or stop listening once a branching rule was called, even if it only tightened a bound."""
        if total(self.model, "SCIPbranchruleGetNLPCalls", ctypes.c_longlong):
            self.eventexit()
        else:
            self.root_s = time.thread_time() - self._began_s
