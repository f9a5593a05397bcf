"""F_HF: minus the mean cost of solving the design instances with the rule (paper, Bi-Fidelity Formulation)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from bife_core.benchmarks import Instance
from bife_core.config import HighFidelityConfig, Settings
from bife_core.errors import RuleError
from bife_core.rules import rule_sha
from bife_core.sandbox import Note, WorkerPool
from bife_core.scip.solving import SolveResult, SolveSettings
from bife_core.solves import Brancher, SolveJob, SolveStore, run_jobs

UNFINISHED_FACTOR: Final = 10.0
"""Nodes and LP iterations of a solve cut off at its time limit count this often, or a slow rule would look lean."""


class HighScore(Settings):
    """F_HF of a rule with the solves behind it, or the reason there is none.

    Attributes
    ----------
    f_hf : float or None
        Minus the mean cost, in the cost's unit.
    results : tuple of SolveResult
        One per design instance, in order.
    cpu_s : float
        CPU seconds of all solves, reused ones included.
    """

    f_hf: float | None = None
    failure: str | None = None
    results: tuple[SolveResult, ...] = ()
    cpu_s: float = 0.0


def cost_of(result: SolveResult, config: HighFidelityConfig) -> float:
    """Return what one solve costs under `config`, positive and lower is better."""
    cost = result.cost(config.cost)
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
    pool: WorkerPool,
    solves_dir: Path,
    progress: Callable[[int, int], None] | None = None,
    note: Note | None = None,
) -> HighScore:
    """Solve the design instances with a rule and return F_HF; solves done before are reused.

    A rule that raises while branching, or whose worker had to be killed, has no F_HF.
    """
    try:
        sha = rule_sha(source)
    except RuleError as error:
        return HighScore(failure=str(error))
    brancher = Brancher(name=name, source=source, sha=sha)
    settings = SolveSettings(time_limit_s=config.time_limit_s, seed=config.seed)
    jobs = [SolveJob.of(instance, [brancher], settings) for instance in instances]
    outcomes = run_jobs(jobs, SolveStore(solves_dir), pool, progress, note)
    results = tuple(result for outcome in outcomes for result in outcome.results)
    cpu_s = math.fsum(result.cpu_s for result in results)
    for instance, outcome in zip(instances, outcomes, strict=True):
        if outcome.failure is not None:
            return HighScore(failure=f"{instance.name}: {outcome.failure}", results=results, cpu_s=cpu_s)
        errors = sum(result.rule_errors for result in outcome.results)
        if errors:
            return HighScore(
                failure=f"{instance.name}: the rule raised at {errors} branchings.",
                results=results,
                cpu_s=cpu_s,
            )
    return HighScore(f_hf=high_fidelity(results, config), results=results, cpu_s=cpu_s)
