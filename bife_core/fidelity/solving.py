"""What F_HF and trials share: solving instances under its limits, and what a solve costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from bife_core.benchmarks.base import Instance
from bife_core.fidelity.config import HighFidelityConfig
from bife_core.methods.base import Method
from bife_core.sandbox import Note, Workers
from bife_core.scip.cost import LEAST
from bife_core.scip.solving import SolveResult, SolveSettings
from bife_core.solves import Solved, SolveJob, run_solves
from bife_core.store import Store

UNFINISHED_FACTOR: Final = 10.0
"""Nodes and LP iterations of a solve cut off at its time limit count this often, or a slow rule would look lean."""

MOST_UNDECIDED: Final = 0.5
"""A rule that leaves more than this share of its branchings to SCIP would be scored for SCIP's work."""


def cost_of(result: SolveResult, config: HighFidelityConfig) -> float:
    """Return what one solve costs under `config`, positive and lower is better."""
    cost = max(result.cost(config.cost), LEAST[config.cost])
    if config.cost == "time" and not result.finished:
        # SCIP may have given up early, out of memory say; that is not to look fast.
        return max(cost, config.time_limit_s)
    if config.cost in {"nodes", "lp_iterations"} and not result.finished:
        return UNFINISHED_FACTOR * cost
    return cost


def solve_each(
    method: Method,
    instances: Sequence[Instance],
    config: HighFidelityConfig,
    pool: Workers,
    solves: Store,
    *,
    limits_s: Sequence[float] | None = None,
    note: Note | None = None,
    until_unix_s: float | None = None,
) -> list[Solved]:
    """Solve each instance once with a method, under the limits of F_HF.

    Parameters
    ----------
    limits_s : sequence of float, optional
        CPU seconds each solve may take, in place of the limit of the configuration.

    Raises
    ------
    RuleError
        If the method is a source that is no Python.
    WorkerFailure, OutOfTimeError, StoreError
        As `run_solves`.
    """
    groups = []
    for instance, limit_s in zip(instances, limits_s or [config.time_limit_s] * len(instances), strict=True):
        settings = SolveSettings(solver=config.solver, time_limit_s=limit_s, seed=config.seed)
        groups.append([SolveJob.of(instance, method, settings)])
    return run_solves(groups, solves, pool, note=note, until_unix_s=until_unix_s)


def raised(results: Iterable[SolveResult]) -> str | None:
    """Return where a rule raised first, as a sentence."""
    for result in results:
        if result.rule_errors:
            return f"{result.instance}: the rule raised at {result.rule_errors} branchings."
    return None


def misbehaviour(results: Sequence[SolveResult]) -> str | None:
    """Return what a rule did wrong in all its solves, as a sentence."""
    if (fault := raised(results)) is not None:
        return fault
    calls = sum(result.calls for result in results)
    undecided = sum(result.undecided for result in results)
    if undecided > MOST_UNDECIDED * calls:
        return (
            f"The rule gave no usable score at {undecided} of {calls} branchings, which SCIP decided instead."
        )
    return None
