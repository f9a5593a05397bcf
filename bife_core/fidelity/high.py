"""F_HF: minus the mean cost of solving the design instances with the rule (paper, Bi-Fidelity Formulation)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from bife_core.benchmarks.base import Instance
from bife_core.errors import RuleError, SolverError
from bife_core.fidelity.config import HighFidelityConfig
from bife_core.methods.base import Method
from bife_core.methods.rule import RuleMethod
from bife_core.sandbox import Note, Workers
from bife_core.scip.solving import SolveResult, SolveSettings
from bife_core.solves import Solve, Solved, SolveJob, SolveStore, run_solves
from bife_core.values import Value

UNFINISHED_FACTOR: Final = 10.0
"""Nodes and LP iterations of a solve cut off at its time limit count this often, or a slow rule would look lean."""

MOST_UNDECIDED: Final = 0.5
"""A rule that leaves more than this share of its branchings to SCIP would be scored for SCIP's work."""


class HighScore(Value):
    """F_HF of a rule with the solves behind it, or the reason there is none.

    Attributes
    ----------
    f_hf : float or None
        Minus the mean cost, in the cost's unit.
    failure : str or None
        What the rule did wrong; a fault of the solver is none of the rule's.
    results : tuple of SolveResult
        One per design instance that could be solved, in order.
    cpu_s : float
        CPU seconds of all solves, reused ones included.
    notes : tuple of str
        Sentences on what the score leaves out, such as an instance on which SCIP fails whoever branches.
    """

    f_hf: float | None = None
    failure: str | None = None
    results: tuple[SolveResult, ...] = ()
    cpu_s: float = 0.0
    notes: tuple[str, ...] = ()


def cost_of(result: SolveResult, config: HighFidelityConfig) -> float:
    """Return what one solve costs under `config`, positive and lower is better."""
    cost = result.cost(config.cost)
    if config.cost == "time" and not result.finished:
        # SCIP may have given up early, out of memory say; that is not to look fast.
        return max(cost, config.time_limit_s)
    if config.cost in {"nodes", "lp_iterations"} and not result.finished:
        return UNFINISHED_FACTOR * cost
    return cost


def high_fidelity(results: Sequence[SolveResult], config: HighFidelityConfig) -> float:
    """Return F_HF of the given solves.

    Raises
    ------
    ValueError
        If there is no solve.
    """
    if not results:
        raise ValueError("F_HF needs at least one solve.")
    costs = [cost_of(result, config) for result in results]
    if config.mean == "arithmetic":
        return -math.fsum(costs) / len(costs)
    return -math.exp(math.fsum(math.log(max(cost, 1e-9)) for cost in costs) / len(costs))


def score_high(
    source: str,
    name: str,
    instances: Sequence[Instance],
    config: HighFidelityConfig,
    pool: Workers,
    solves: SolveStore,
    note: Note | None = None,
    *,
    until_unix_s: float | None = None,
) -> HighScore:
    """Solve the design instances with a rule and return F_HF; solves done before are reused.

    A rule that raises while branching, leaves most branchings without a usable score, or ends a worker that RPB does
    not end, has no F_HF. An instance on which RPB fails as well is set aside with a note.

    Raises
    ------
    SolverError
        If every instance had to be set aside.
    WorkerFailure
        If the machine failed, not the rule; another try may succeed.
    OutOfTimeError
        If solves are left at `until_unix_s`, seconds since 1970.
    """
    method = RuleMethod(name=name, source=source)
    try:
        solved = solve_each(method, instances, config, pool, solves, note=note, until_unix_s=until_unix_s)
    except RuleError as error:
        return HighScore(failure=str(error))
    results = tuple(one.outcome.result for one in solved if one.outcome.result is not None)
    so_far = HighScore(results=results, cpu_s=math.fsum(result.cpu_s for result in results))
    notes = tuple(
        f"{one.solve.job.instance} is set aside, because RPB fails on it too: {one.rpb_failure}"
        for one in solved
        if one.rpb_failure is not None
    )
    fault = next((one.rules_fault for one in solved if one.rules_fault is not None), misbehaviour(results))
    if fault is not None:
        return so_far.model_copy(update={"failure": fault, "notes": notes})
    if not results:
        raise SolverError(f"None of the {len(instances)} design instances can be solved. {' '.join(notes)}")
    never = sum(result.calls == 0 for result in results)
    if never:
        notes += (
            f"{never} of {len(results)} design instances needed no branching on an LP solution: "
            "they are the same for every rule.",
        )
    return so_far.model_copy(update={"f_hf": high_fidelity(results, config), "notes": notes})


def solve_each(
    method: Method,
    instances: Sequence[Instance],
    config: HighFidelityConfig,
    pool: Workers,
    solves: SolveStore,
    *,
    note: Note | None = None,
    until_unix_s: float | None = None,
) -> list[Solved]:
    """Solve each instance once with a method, under the limits of F_HF.

    Raises
    ------
    RuleError
        If the method is a source that is no Python.
    WorkerFailure, OutOfTimeError, OSError
        As `run_solves`.
    """
    settings = SolveSettings(time_limit_s=config.time_limit_s, seed=config.seed)
    portable = config.cost in {"nodes", "lp_iterations"}
    groups = [
        [Solve.of(SolveJob.of(instance, method, settings), portable=portable)] for instance in instances
    ]
    return run_solves(groups, solves, pool, note=note, until_unix_s=until_unix_s)


def misbehaviour(results: Sequence[SolveResult]) -> str | None:
    """Return what a rule did wrong in solves that came to an end, as a sentence."""
    for result in results:
        if result.rule_errors:
            return f"{result.instance}: the rule raised at {result.rule_errors} branchings."
    calls = sum(result.calls for result in results)
    undecided = sum(result.undecided for result in results)
    if undecided > MOST_UNDECIDED * calls:
        return (
            f"The rule gave no usable score at {undecided} of {calls} branchings, which SCIP decided instead."
        )
    return None
