"""What F_HF and trials share: solving instances under its limits, what a solve costs, and the load of the machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from bife_core.base.values import Value
from bife_core.base.wording import counted
from bife_core.instances.base import Instance
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.solves import Solved, SolveJob, run_solves
from bife_core.solver.methods.base import RPB, Method, ScipMethod
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.cost import BY_OBJECTIVE, LEAST, TICK_S, Cost
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.scip.solve import Objectives, SolveResult, SolveSettings, best_known
from bife_core.workers import Note, Workers

if TYPE_CHECKING:
    from bife_core.store import Store

UNFINISHED_FACTOR: Final = 10.0
"""Nodes and LP iterations of a solve cut off at its time limit count this often, or a slow rule would look lean."""

_MOST_UNDECIDED: Final = 0.5
"""A rule that leaves more than this share of its branchings to SCIP would be scored for SCIP's work."""

_POOLED_S: Final = 0.5
"""Seconds of root as which the load factor over all instances counts beside that of one: short roots are noisy."""


@dataclass(frozen=True)
class SolveContext:
    """How and where instances are solved for F_HF; `store` keeps the solves, which end once the time is `over`.

    Each method is solved as a part of the `rest` of a configuration, if there is one.
    """

    config: HighFidelityConfig
    solver: SolverConfig
    pool: Workers
    store: Store
    note: Note | None = None
    over: Callable[[], bool] = lambda: False
    rest: Configuration | None = None

    @property
    def usual(self) -> Method:
        """What methods are measured by: RPB, or the rest of a configuration alone."""
        return self.rest or ScipMethod(name=RPB)


def cost_of(result: SolveResult, config: HighFidelityConfig, objectives: Objectives | None = None) -> float:
    """Return what one solve costs under `config`, positive and lower is better.

    Costs by the objective are relative to the `best_known` in `objectives`, or else to the solve's own.
    """
    best = (objectives or {}).get(result.digest or result.instance)
    cost = max(result.cost(config.cost, best, config.time_limit_s), LEAST[config.cost])
    if config.cost == "time" and not result.finished:
        # SCIP may have given up early, out of memory say; that is not to look fast.
        return max(cost, config.time_limit_s)
    if config.cost in {"nodes", "lp_iterations"} and not result.finished:
        return UNFINISHED_FACTOR * cost
    return cost


def choose_cost(config: HighFidelityConfig, usual: Iterable[SolveResult | None]) -> tuple[Cost, str]:
    """Return by what to compare methods after SCIP's `usual` solves, and a sentence why, without which it was set."""
    solves = [result for result in usual if result is not None]
    if not (solves and config.choose_cost and config.cost == "time"):
        return config.cost, ""
    ended = sum(solve.finished for solve in solves)
    why = f"{ended} of {counted(len(solves), 'solve')} ended within {config.time_limit_s:g} CPU seconds"
    if ended or not all(solve.stands_still for solve in solves):
        return "time", f"{why}: methods are compared by CPU time."
    why += ", and the dual bound stands still"
    return "primal_integral", f"{why}: methods are compared by the primal integral."


def solve_each(
    method: Method,
    instances: Sequence[Instance],
    context: SolveContext,
    limits_s: Sequence[float] | None = None,
    objective_limit: float | None = None,
) -> list[Solved]:
    """Solve each instance under F_HF's limits, or in `limits_s` CPU seconds; raises as `run_solves`, or `RuleError`."""
    config, groups = context.config, []
    method = method if context.rest is None else context.rest.with_part(method)
    for instance, limit_s in zip(instances, limits_s or [config.time_limit_s] * len(instances), strict=True):
        settings = SolveSettings(
            solver=context.solver, time_limit_s=limit_s, objective_limit=objective_limit, seed=config.seed
        )
        groups.append([SolveJob(instance=instance, method=method, settings=settings)])
    return run_solves(groups, context.store, context.pool, note=context.note, over=context.over)


def misbehaviour(solves: Iterable[Mapping[str, Any]], subject: str = "The rule") -> str | None:
    """Return a sentence if a rule left too many branchings to SCIP in its solves, given by field, else None."""
    calls, undecided, errors = totals(solves, "calls", "undecided", "rule_errors")
    if (left := undecided + errors) <= _MOST_UNDECIDED * calls:
        return None
    return f"{subject} gave no usable score at {left} of {calls} branchings, which SCIP decided instead."


def totals(solves: Iterable[Mapping[str, Any]], *counters: str) -> list[int]:
    """Return the sum of each counter over solves, given by field; a missing value counts 0."""
    rows = list(solves)
    return [sum(row.get(counter) or 0 for row in rows) for counter in counters]


class Reference(Value):
    """The usual solves, RPB's, of the design instances in order, None where that fails: others are measured by them.

    With a cost by the objective `stored` are the best ones that any solve had found by then.
    """

    results: tuple[SolveResult | None, ...]
    failures: tuple[str, ...] = ()
    stored: dict[str, float] = Field(default_factory=dict)

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all solves."""
        return math.fsum(result.cpu_s for result in self.results if result is not None)

    @property
    def objectives(self) -> dict[str, float]:
        """The best objectives that a search measures all its rules by."""
        return best_known(self.results, self.stored)


def measure_reference(instances: Sequence[Instance], context: SolveContext) -> Reference:
    """Solve the design instances with what is usual; solves done before are reused. Raises what `run_solves` does."""
    solved = solve_each(context.usual, instances, context)
    failures = tuple(
        f"{solve.job.instance.name} is set aside for the whole search, because RPB fails on it: {solve.failure}"
        for solve in solved
        if solve.failure is not None
    )
    by_objective = context.config.cost in BY_OBJECTIVE
    stored = context.store.best_objectives(each.digest for each in instances if by_objective)
    return Reference(results=tuple(solve.result for solve in solved), failures=failures, stored=stored)


def load_factors(results: Mapping[int, SolveResult], rpb: Sequence[SolveResult | None]) -> dict[int, float]:
    """Return by position how many times slower the machine was during a solve than during RPB's, if it has one.

    Up to the first branching a solve does the same work under every branching rule, so these times are compared.
    """
    roots = {
        place: both if min(both := (result.root_s or 0.0, other.root_s or 0.0)) > TICK_S else (0.0, 0.0)
        for place, result in results.items()
        if (other := rpb[place]) is not None
    }
    total = math.fsum(rpb_s for _, rpb_s in roots.values())
    pooled = math.fsum(root_s for root_s, _ in roots.values()) / total if total else 1.0
    return {at: (root_s + _POOLED_S * pooled) / (rpb_s + _POOLED_S) for at, (root_s, rpb_s) in roots.items()}
