"""What proposes starts, and how they are given to SCIP, which checks each."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

from pydantic import BeforeValidator, Field, model_validator

from bife_core.base.errors import SolverError
from bife_core.base.plugins import Plugins
from bife_core.base.values import Positive, Value, digest_of
from bife_core.base.wording import counted, fits, in_one_line
from bife_core.language.syntax import NOT_PYTHON, functions_in
from bife_core.solver.scip.libscip import scip_errors

if TYPE_CHECKING:
    import pyscipopt

    from bife_core.solver.starts.problem import Problem

FAMILY: Final = "family"
"""The built-in that proposes nothing without earlier solutions."""

STARTS: Final[Plugins[Callable[[Any], Any]]] = Plugins(
    "start method",
    "bife.starts",
    {name: f"bife_core.solver.starts.{name}:start" for name in ("restricted", "local_search", FAMILY)},
    callable,
    "a function from a `Problem` to a list of arrays",
)

MOST: Final = 5
"""Starts that are used of those that a method proposes."""

SHARE: Final = 0.5
"""Share of the time limit of a solve that its start method may take."""

_NODES: Final = 100
"""Nodes in which a part of a solution is completed."""

_LONGEST: Final = 300
"""Characters of what a start that fails may say: each solve stores it."""


class StartMethod(Value):
    """What proposes solutions, or parts of them, before SCIP solves: a built-in by its name, or Python `source`.

    The source defines ``start(problem)``, which gets a `Problem` and returns one array over its variables or a list of
    them; to variables that are NaN `Problem.solve_restricted` gives values. It runs in a confined process. SCIP checks
    what is proposed, and the CPU time is charged to the solve.

    Examples
    --------
    >>> StartMethod(name="local_search").identity
    'local_search'
    """

    name: str
    source: str | None = Field(None, description="Python that defines start(problem); None is the built-in.")
    solutions: tuple[dict[str, float], ...] = Field(
        (), description="Earlier solutions of the family, the last one last: values by names of variables."
    )
    limit_s: Positive = Field(60.0, description="CPU seconds after which it is ended.")

    @model_validator(mode="after")
    def _exists(self) -> Self:
        if self.source is None:
            STARTS.required(self.name)
            return self
        try:
            defines = "start" in functions_in(self.source)
        except NOT_PYTHON as error:
            raise ValueError(f"the source of the start {self.name!r} is no Python: {error}") from error
        if not defines:
            raise ValueError(f"the source of the start {self.name!r} must define start(problem)")
        return self

    @property
    def identity(self) -> str:
        """The name of a built-in with no more than that, else a hash of all that decides what is proposed."""
        facts = self.model_dump(mode="json", exclude_defaults=True, exclude={"name"} if self.source else None)
        return self.name if facts == {"name": self.name} else digest_of(facts)

    def prepare(self) -> None:
        """Have machine code on disk before workers start, which may not write there."""
        if self.source is None and self.name == "local_search":
            from bife_core.solver.units import ANNEALING

            ANNEALING.prepare()

    def propose(self, problem: Problem) -> Any:
        """Return what is proposed, unchecked."""
        if self.source is None:
            return STARTS.find(self.name)(problem)
        from bife_core.solver.starts.confined import propose

        return propose(self.source, problem)


AnyStart = Annotated[
    StartMethod, BeforeValidator(lambda start: {"name": start} if isinstance(start, str) else start)
]
"""A field for start methods, which the name of a built-in stands for."""


class Started(Value):
    """What became of what SCIP gets before it solves: `sentence` says it, also of a failure; and what that took.

    `objective` is that of the best whole solution, None without one, and `entered` counts the starts, or inequalities,
    that SCIP got. Without any of them it is `Started()`.
    """

    sentence: str = ""
    objective: float | None = None
    entered: int = 0
    failed: bool = False
    cpu_s: float = 0.0
    wall_s: float = 0.0


def attempted(what: str, failing: str, doing: Callable[[], tuple[str, int, float | None]]) -> Started:
    """Do what returns a sentence, how much SCIP got, and an objective; whatever it raises, the solve goes on."""
    cpu, wall, objective, entered, failed = _cpu_s(), time.perf_counter(), None, 0, False
    try:
        sentence, entered, objective = doing()
    except Exception as error:  # noqa: BLE001 - whatever it is
        failed, sentence = True, f"{failing}: {fits(in_one_line(error), _LONGEST)}"
    times = {"cpu_s": _cpu_s() - cpu, "wall_s": time.perf_counter() - wall}
    sentence = f"{what} took {times['cpu_s']:.2f} CPU seconds; {sentence.rstrip('.')}."
    return Started(sentence=sentence, objective=objective, entered=entered, failed=failed, **times)


def give_starts(model: pyscipopt.Model, method: StartMethod, limit_s: float) -> Started:
    """Give a model that is not being solved yet what a start method proposes within `limit_s` CPU seconds.

    Parts of a solution are completed by `Problem.solve_restricted`; what SCIP finds infeasible is left out.
    """
    from bife_core.solver.starts.problem import problem_of

    method.prepare()

    def give() -> tuple[str, int, float | None]:
        seed = int(model.getParam("randomization/randomseedshift"))
        problem = problem_of(model, seed, min(method.limit_s, limit_s), method.solutions)
        ends = _cpu_s() + problem.limit_s
        return _entered(model, problem, method.propose(problem), ends)

    return attempted(f"The start method {method.name}", "it failed", give)


def _fits(model: pyscipopt.Model, solution: pyscipopt.scip.Solution) -> bool:
    """Whether a solution fits a model; SCIP only says so of an SOS by an error, which it is no stage for."""
    try:
        with scip_errors("SCIP checks no solution"):
            return bool(model.checkSol(solution, printreason=False, original=True))
    except SolverError:
        return False


def _cpu_s() -> float:
    """Return the CPU seconds of this thread, and of processes that ended."""
    return time.thread_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def _entered(
    model: pyscipopt.Model, problem: Problem, proposed: Any, ends: float
) -> tuple[str, int, float | None]:
    """Give starts to the model; say what became of them, and return how many SCIP got and the best objective."""
    import numpy as np

    variables, n, objectives = model.getVars(), len(problem.names), list[float]()
    proposed = [proposed] if isinstance(proposed, np.ndarray) and proposed.ndim == 1 else proposed[:MOST]
    candidates = [np.asarray(each, dtype=np.float64) for each in proposed]
    for values in candidates:  # before SCIP gets any
        if values.shape != (n,) or (np.abs(values) >= 1e20).any() or np.isnan(values).all():
            what = f"one of the shape {values.shape}" if values.shape != (n,) else "infinite values or none"
            raise SolverError(f"a start has {n} finite values, of which some may be NaN; it had {what}")
    for values in candidates:
        rounded = np.round(values)
        values = np.where(problem.integer & (np.abs(values - rounded) <= 1e-5), rounded, values)
        unfit = (values < problem.lower - 1e-6) | (values > problem.upper + 1e-6)
        unfit |= problem.integer & (np.abs(values - rounded) > 0.0)
        complete = None if unfit.any() else _completed(problem, values, ends)
        if complete is None:
            continue
        solution = model.createOrigSol()
        for variable, value in zip(variables, complete.tolist(), strict=True):
            model.setSolVal(solution, variable, value)
        if not _fits(model, solution):
            model.freeSol(solution)
            continue
        objectives.append(model.getSolObjVal(solution))
        with scip_errors("SCIP takes no more starts"):
            model.addSol(solution)
    best = (min if model.getObjectiveSense() == "minimize" else max)(objectives, default=None)
    reached = "" if best is None else f", the best with an objective of {best:.10g}"
    entered, refused = len(objectives), len(candidates) - len(objectives)
    left_out = f"; {refused} were infeasible" if refused else ""
    return f"SCIP got {counted(entered, 'start')}{reached}{left_out}", entered, best


def _completed(problem: Problem, values: Any, ends: float) -> Any:
    """Return a solution with the values that are not NaN, if SCIP finds one in a few nodes before this CPU time."""
    import numpy as np

    if not np.isnan(values).any():
        return values
    rest_s = ends - _cpu_s()
    return replace(problem, limit_s=rest_s).solve_restricted(values, _NODES) if rest_s > 0.0 else None
