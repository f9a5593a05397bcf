"""The settings and the result of a solve, whether results agree, and how a model is set up and optimised."""

from __future__ import annotations

import ctypes
import platform
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final, Self, TypeAlias

import pyscipopt
from pydantic import ConfigDict, Field, field_validator

from bife_core.base import VERSION
from bife_core.base.errors import SolverError
from bife_core.base.values import Value
from bife_core.solver.scip.branching import FALLBACKS, Guard, as_guard
from bife_core.solver.scip.cost import LARGEST_OBJECTIVE, TICK_S, Cost, primal_gap, primal_integral
from bife_core.solver.scip.exactness import NO_INTEGER, NOT_LINEAR, UNROUNDED
from bife_core.solver.scip.libscip import scip_errors, scip_version, total
from bife_core.solver.scip.settings import TRUTHS, Parameter, Seed, SolverConfig, as_given

PROVEN: Final = frozenset({"optimal", "infeasible", "unbounded", "inforunbd"})
"""Statuses of a solve that ended with a proof."""

DONE: Final = PROVEN | {"gaplimit"}
"""Statuses of a solve that reached its goal: a proof, or the gap that is enough."""

_LP_SOLVED: Final = pyscipopt.SCIP_EVENTTYPE.FIRSTLPSOLVED | pyscipopt.SCIP_EVENTTYPE.LPSOLVED
_BETTER: Final = pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND

_sigaction: Final = ctypes.CDLL(None).sigaction
_SIGACTION_BYTES: Final = 256  # more than the size of a C `struct sigaction` on any platform

RECORDED: Final = 6
"""Version of `SolveResult`, raised when a field, or how it is measured, changes: then no stored solve is used."""

INTERRUPTED: Final = frozenset({"userinterrupt", "terminate"})
"""Statuses of a solve that a signal ended, which says nothing about the method."""

STILL: Final = 0.1
"""A dual bound that closes no more than this share of the gap between root and best solution stands still."""

TOLERANCE: Final = 1e-5
"""Relative difference of optima that SCIP's tests allow (`check/check.awk`), since rows are met to within 1e-6 only."""


class SolveSettings(Value):
    """How an instance is solved: by default under SCIP default settings, without limits."""

    model_config = ConfigDict(allow_inf_nan=False)

    time_limit_s: float | None = Field(
        None,
        gt=0,
        le=1e20,
        description="CPU seconds on SCIP's clock, which leaves out those of the system and is looked at between steps: "
        "a solve may take, and then costs, more. None is no limit.",
    )
    node_limit: int | None = Field(None, ge=1, description="Branch-and-bound nodes; None is no limit.")
    objective_limit: float | None = Field(None, description="Only better solutions count; None is no limit.")
    seed: Seed = Field(0, description="Seed of SCIP's randomisation.")
    solver: SolverConfig = Field(
        SolverConfig.model_construct(), description="'default', 'paper', or a .set file of SCIP."
    )
    guard: Guard | None = Field(None, description="When RPB takes over from a rule; None is never.")
    params: dict[str, Parameter] = Field(default_factory=dict, description="SCIP parameters, applied last.")

    @property
    def under(self) -> SolverConfig:
        """SCIP's settings with `params`, limits left out."""
        further = {name: value for name, value in self.params.items() if not name.startswith("limits/")}
        return self.solver.model_copy(update={"params": self.solver.params | further})

    @field_validator("guard", mode="before")
    @classmethod
    def _switched(cls, guard: Any) -> Any:
        return as_guard(guard) if isinstance(guard, bool) else guard


class SolveResult(Value):
    """The result of one solve.

    Attributes
    ----------
    instance, digest : str
        Name of the instance and digest of its content; empty if it was not computed.
    status : str
        SCIP's status: optimal, infeasible, unbounded, timelimit, nodelimit, userinterrupt, ...
    cpu_s, wall_s : float
        Seconds in `optimize`, which presolves too. CPU seconds are user and system time of the solving thread; SCIP's
        clock, and so a time limit, has no system time.
    root_s : float or None
        CPU seconds up to the last LP of the root, the same work under every branching rule; None without an LP, or
        if the solve was not timed.
    start_s : float
        CPU seconds of the start method, also in its own process, and of inequalities; they are part of `cpu_s`,
        `wall_s` and the primal-dual integral, and count for the time limit.
    start : str
        A sentence on what became of the start method, and one on inequalities; empty without them.
    gap : float
        Final gap, see `relative_gap`; 0 after a proof.
    primal_bound, dual_bound, root_bound : float or None
        None if infinite; the last is the dual bound at the end of the root.
    maximise : bool
        Whether larger objectives are better.
    incumbents : tuple of (float, float), or None
        CPU second and objective of each solution that was the best so far, those of a hundredth of a second as one;
        None if the solve was not timed.
    lp_iterations, strong_branching_iterations : int
        Simplex iterations at nodes and in diving, probing and strong branching; of these, strong branching's. SCIP
        does not count those of conflict analysis, sub-MIPs of heuristics and idempotent strong branching.
    violation : str or None
        Row that the best solution violates with its integers rounded, and by how much, such as ``r3 by 3``; or an
        integer variable whose value is none.
    primal_dual_integral : float
        SCIP's integral of the gap in percent over the seconds of its clock: of wall time if no time limit was set and
        the solve was not timed.
    fair_nodes : int or None
        Nodes plus those that side effects of branching saved (Gamrath and Schubert).
    branching_s : float or None
        CPU seconds of a rule's callback plus those of SCIP's branching rules on its clock; this and the four below are
        None if the solve was not timed.
    presolving_s, separation_s, heuristics_s, propagation_s : float or None
        CPU seconds by SCIP's clocks, like those of its branching rules: seconds on the wall times the share of them
        that the thread had a core. Heuristics include their LPs and sub-MIPs, propagation is that at nodes.
    calls, candidates, feature_s, rule_s, callback_s, undecided, rule_errors, overtime, featureless, within_budget
        As in `BranchingStats`; 0 for a rule of SCIP.
    machine : str
        Digest of the `Machine`; empty if it was not recorded.
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
    start_s: float = 0.0
    start: str = ""
    gap: float
    primal_bound: float | None
    dual_bound: float | None
    root_bound: float | None = None
    maximise: bool = False
    incumbents: tuple[tuple[float, float], ...] | None = None
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
        """A sentence on a best solution with a `violation`."""
        if self.violation is None:
            return None
        missed, precisely = f"the best solution misses {self.violation}", "solve with numerics/feastol = 1e-9"
        if self.violation.endswith(NO_INTEGER):
            why = f"SCIP's best solution has {self.violation}; solve with presolving/maxrestarts = 0"
        elif self.violation.endswith(UNROUNDED):
            why = f"{missed}; {precisely}"
        elif self.violation == NOT_LINEAR:
            why = f"{missed} by SCIP's own check; solve with presolving/maxrounds = 0"
        else:
            why = f"{missed} with its integers rounded. SCIP's tolerances allow it; {precisely}"
        return f"{self.instance}: {why}."

    @property
    def finished(self) -> bool:
        """Whether the solve ended with a proof, or at the gap that is enough, and not at a limit."""
        return self.status in DONE

    @property
    def proven(self) -> bool:
        """Whether the solve ended with a proof whose optimum holds with its integers rounded."""
        return self.status in PROVEN and self.violation is None

    @property
    def stands_still(self) -> bool:
        """Whether it ended at a limit and in more than half of its time closed little of the gap that the root left."""
        root, dual, primal = self.root_bound, self.dual_bound, self.primal_bound
        if self.finished or root is None or dual is None or 2.0 * (self.root_s or 0.0) > self.cpu_s:
            return False
        return primal is None or abs(dual - root) <= STILL * abs(primal - root)

    @property
    def fallbacks(self) -> int:
        """Branchings on LP solutions that the rule did not decide."""
        return sum(getattr(self, counter) for counter in FALLBACKS)

    def cost(self, kind: Cost, best: float | None = None, limit_s: float | None = None) -> float:
        """Return the cost of this solve, not negative, lower is better.

        Costs by the objective are relative to the `best` one known, by default this solve's own. The primal integral
        goes on to the time limit, if any; once a solve is `finished`, the gap is 0.
        """
        best = self.primal_bound if best is None else best
        if kind == "objective":
            closed = self.finished and self.primal_bound is None  # by a proof that there is no solution
            gap = 0.0 if closed else primal_gap(self.primal_bound, best, self.maximise)
            return 1.0 / max(1.0 - gap, 1.0 / LARGEST_OBJECTIVE)
        if kind == "primal_integral":
            end_s = limit_s if limit_s and not self.finished else self.cpu_s
            return primal_integral(self.incumbents or (), best, end_s, self.maximise)
        return float(getattr(self, "cpu_s" if kind == "time" else kind))


def disagree(a: SolveResult, b: SolveResult) -> bool:
    """Whether two solves of one instance have proofs that contradict each other."""
    if not (a.proven and b.proven):
        return False
    if a.status != b.status:
        # SCIP may stop at "infeasible or unbounded", which contradicts neither.
        return {a.status, b.status} not in ({"inforunbd", "infeasible"}, {"inforunbd", "unbounded"})
    if a.primal_bound is None or b.primal_bound is None:
        return a.primal_bound is not b.primal_bound
    scale = max(1.0, abs(a.primal_bound), abs(b.primal_bound))
    return abs(a.primal_bound - b.primal_bound) > TOLERANCE * scale


Objectives: TypeAlias = Mapping[str, float]
"""The best objective known of each instance, by its digest or else its name."""


def best_known(results: Iterable[SolveResult | None], before: Objectives | None = None) -> dict[str, float]:
    """Return the best objectives of solves without `violation`, and of those known `before`."""
    best = dict(before or {})
    for result in results:
        if result is not None and (value := result.primal_bound) is not None and result.violation is None:
            name, better = result.digest or result.instance, max if result.maximise else min
            best[name] = better(best.get(name, value), value)
    return best


def cautions(results: Iterable[SolveResult]) -> tuple[str, ...]:
    """Return a sentence per instance with a best solution that has a `violation`."""
    sentences = {result.digest or result.instance: result.caution for result in results if result.caution}
    return tuple(sentences.values())


def contradictions(results: Iterable[SolveResult]) -> tuple[str, ...]:
    """Return a sentence per instance with proofs that contradict each other."""
    solves, sentences = list(results), dict[str, str]()
    for result, sentence in zip(solves, refuted(solves, [True] * len(solves)), strict=True):
        if sentence is not None:
            sentences.setdefault(result.digest or result.instance, sentence)
    return tuple(sentences.values())


def refuted(results: Sequence[SolveResult | None], trusted: Sequence[bool]) -> list[str | None]:
    """Return for each solve how the first `trusted` proof of its instance contradicts its own, or None."""
    proven: dict[str, SolveResult] = {}
    for result, certain in zip(results, trusted, strict=True):
        if certain and result is not None and result.proven:
            proven.setdefault(result.digest or result.instance, result)
    sentences: list[str | None] = [None] * len(results)
    for position, b in enumerate(results):
        a = None if b is None else proven.get(b.digest or b.instance)
        if a is not None and b is not None and disagree(a, b):
            ends = (f"{solve.method} ended {solve.status} with {solve.primal_bound}" for solve in (a, b))
            sentences[position] = f"{a.instance}: {', '.join(ends)}."
    return sentences


def versions() -> dict[str, str]:
    """Return the versions a result depends on."""
    ours = {"bife": VERSION, "scip": scip_version()}
    return ours | {"pyscipopt": pyscipopt.__version__, "python": platform.python_version()}


def parameters(settings: SolveSettings) -> dict[str, Parameter]:
    """Return the parameters of SCIP that settings set; limits, seed and gap override those of a settings file."""
    effective = settings.solver.effective
    params = {name: value for name, value in effective.items() if not name.startswith("randomization/")}
    params |= {
        "randomization/randomseedshift": settings.seed,
        # Seed 0 keeps the order of the file, as users solve it; others permute it.
        "randomization/permutationseed": settings.seed,
        "randomization/permutevars": settings.seed > 0,
        "randomization/lpseed": settings.seed,
        "timing/enabled": True,  # without clocks SCIP never comes to a time limit
    }
    if settings.time_limit_s is not None:
        # Seconds of the CPU, not of the wall, which take so long to read that looking at each occasion may take longer
        # than all else at cheap nodes (`findings/scip-limit-of-cpu-time.sh`); so `TreeClocks`, too.
        params |= {"timing/clocktype": 1, "timing/rareclockcheck": True, "limits/time": settings.time_limit_s}
    if settings.node_limit is not None:
        params["limits/nodes"] = settings.node_limit
    return params | settings.params


def apply(settings: SolveSettings, model: pyscipopt.Model) -> None:
    """Set SCIP's parameters and limits; a `SolverError` says which one SCIP does not take."""
    for name, value in parameters(settings).items():
        with scip_errors(f"SCIP does not take {name} = {value!r}"):
            truths = TRUTHS if isinstance(model.getParam(name), bool) else {}
            model.setParam(name, truths.get(str(value).lower(), value))
            if not as_given(value, taken := model.getParam(name)):
                raise ValueError(f"it would be {taken!r}")
    if settings.objective_limit is not None:
        model.setObjlimit(settings.objective_limit)


ATTACHING: Final[ContextVar[tuple[Any, ...]]] = ContextVar("attaching", default=())
"""What `bife_core.used` attaches in a thread; nothing to a model that is solved here."""


def optimize(model: pyscipopt.Model, doing: str) -> None:
    """Call ``model.optimize()``; a `SolverError` says what failed, after "while"."""
    ctrl_c, outer = ctypes.create_string_buffer(_SIGACTION_BYTES), ATTACHING.set(())
    _sigaction(signal.SIGINT, None, ctrl_c)
    try:
        with scip_errors(f"SCIP failed while {doing}"):
            model.optimize()
    except (SolverError, KeyboardInterrupt):
        model.to_ptr(True)  # SCIP cannot free a model that failed while it was set up, and prints errors
        raise
    finally:
        _sigaction(signal.SIGINT, ctrl_c, None)  # SCIP keeps its own handler after a failure
        ATTACHING.reset(outer)


class TreeClocks(pyscipopt.Eventhdlr):  # type: ignore[misc]
    """Has SCIP time the parts of the search on the wall's clock, which it reads without a call of the system.

    Its clock of the whole solve, and so a time limit and the primal-dual integral, stays the CPU's: SCIP looks at the
    parameter when a clock starts, and that clock started before.
    """

    model: pyscipopt.Model
    _of_whole = 1

    @classmethod
    def include(cls, model: pyscipopt.Model) -> Self:
        """Return clocks for the solves of a model."""
        clocks = cls()
        model.includeEventhdlr(clocks, "bife_clocks", "sets and reads clocks")
        return clocks

    @classmethod
    @contextmanager
    def over(cls, model: pyscipopt.Model) -> Iterator[Self]:
        """Yield clocks for a solve of `model`, which is freed afterwards: they refer to each other."""
        clocks = cls.include(model)
        try:
            yield clocks
        finally:
            with suppress(Exception), scip_errors():  # SCIP frees no solve that failed while it was set up
                model.freeProb()
            clocks.model = None

    def eventinitsol(self) -> None:
        """Change over once presolving is done."""
        self._of_whole = self.model.getParam("timing/clocktype")
        self.model.setParam("timing/clocktype", 2)

    def eventexitsol(self) -> None:
        """Change back, before a restart starts the clock of the whole solve anew."""
        self.model.setParam("timing/clocktype", self._of_whole)


class RootClock(TreeClocks):
    """Measures `root_s`, this thread's CPU seconds up to the last LP before the first branching; None without an LP.

    The LPs that are solved again after RPB tightened bounds at the root are left out. Beside that it keeps the
    `incumbents` of a `SolveResult`.
    """

    root_s: float | None = None
    incumbents: list[tuple[float, float]]
    _began_s = 0.0
    _listens = False

    def eventinit(self) -> None:
        """Start the clock, after rules were compiled, and listen to solved LPs and better solutions."""
        self._began_s = time.thread_time()
        self.incumbents = list[tuple[float, float]]()
        if self.model.getNSols():  # which the user gave
            self._enter_incumbent()
        self.model.catchEvent(_BETTER, self)
        self.model.catchEvent(_LP_SOLVED, self)
        self._listens = True

    def eventexit(self) -> None:
        """Stop listening."""
        self.model.dropEvent(_BETTER, self)
        self._end_root()

    def eventexec(self, event: pyscipopt.scip.Event) -> None:
        """Enter a better solution; at an LP read the clock, or stop listening once a branching rule was called."""
        if event.getType() == _BETTER:
            self._enter_incumbent()
        elif total(self.model, "SCIPbranchruleGetNLPCalls", ctypes.c_longlong):
            self._end_root()
        else:
            self.root_s = time.thread_time() - self._began_s

    def _end_root(self) -> None:
        if self._listens:
            self.model.dropEvent(_LP_SOLVED, self)
            self._listens = False

    def _enter_incumbent(self) -> None:
        second = round(time.thread_time() - self._began_s, 4)
        # SCIP updates its primal bound after the event.
        objective = self.model.getSolObjVal(self.model.getBestSol())
        if self.incumbents and second < self.incumbents[-1][0] + TICK_S:
            second, _ = self.incumbents.pop()
        self.incumbents.append((second, objective))
