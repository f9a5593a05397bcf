"""Compare a rule with a baseline on instances it never saw, both on the same core, one right after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from bife_core.benchmarks import Instance
from bife_core.config import EvaluationConfig, Settings
from bife_core.errors import SolverError
from bife_core.sandbox import Note, Workers
from bife_core.scip.solving import SolveResult, SolveSettings
from bife_core.solves import Brancher, SolveJob, SolveStore, run_jobs
from bife_core.stats import RatioInterval, ratio_interval

OBJECTIVE_TOLERANCE: Final = 1e-6
"""Relative difference within which two proven optima are the same."""


class EvaluationSummary(Settings):
    """How a rule compares with the baseline.

    Attributes
    ----------
    ratio, ci_low, ci_high : float
        Geometric mean over instances of the rule's CPU time over the baseline's, with its bootstrap interval
        (None where the data give none); below 1 the rule is faster.
    node_ratio : float
        The same for nodes, of which at least one is counted per solve.
    wins, losses : int
        Instances on which the rule took less and more time, seeds averaged geometrically.
    rows : tuple of dict
        One per instance, seed and brancher: instance, digest, seed, brancher and the fields of the solve.
    failures : tuple of str
        One sentence per pair of solves that is missing.
    mismatches : tuple of str
        One sentence per pair whose proven optima differ; anything but none is a defect.
    note : str
        What limits the statement; empty if nothing does.
    """

    rule: str
    baseline: str
    ratio: float
    ci_low: float | None
    ci_high: float | None
    confidence: float
    node_ratio: float
    instances: int
    seeds: tuple[int, ...]
    wins: int
    losses: int
    rows: tuple[dict[str, Any], ...]
    failures: tuple[str, ...] = ()
    mismatches: tuple[str, ...] = ()
    note: str = ""

    @property
    def faster(self) -> bool:
        """Whether the whole interval lies below 1."""
        return self.ci_high is not None and self.ci_high < 1.0


def evaluate(
    rule: Brancher,
    instances: Sequence[Instance],
    config: EvaluationConfig,
    pool: Workers,
    solves_dir: Path,
    progress: Callable[[int, int], None] | None = None,
    note: Note | None = None,
) -> EvaluationSummary:
    """Solve every instance with every seed under the rule and the baseline.

    The two solves of a pair run in one worker on one core, and which goes first alternates from pair to pair, so
    that a busy or slow moment of the machine falls on both alike. Pairs solved before are reused.

    Raises
    ------
    SolverError
        If no pair could be solved, with the reasons.
    """
    baseline = Brancher(name=config.baseline)
    jobs = []
    for position, instance in enumerate(instances):
        for seed in config.seeds:
            pair = (baseline, rule) if (position + seed) % 2 == 0 else (rule, baseline)
            settings = SolveSettings(time_limit_s=config.time_limit_s, seed=seed)
            jobs.append(SolveJob.of(instance, pair, settings))
    outcomes = run_jobs(jobs, SolveStore(solves_dir), pool, progress, note)

    rows: list[dict[str, Any]] = []
    failures: list[str] = []
    mismatches: list[str] = []
    times: dict[str, tuple[list[float], list[float]]] = {}
    nodes: dict[str, tuple[list[float], list[float]]] = {}
    for job, outcome in zip(jobs, outcomes, strict=True):
        if outcome.failure is not None:
            failures.append(f"{job.instance}, seed {job.settings.seed}: {outcome.failure}")
            continue
        by_name = {result.brancher: result for result in outcome.results}
        of_rule, of_baseline = by_name[rule.name], by_name[baseline.name]
        rows += [
            {"digest": job.instance_digest, **result.model_dump(mode="json")}
            for result in (of_baseline, of_rule)
        ]
        if disagree(of_rule, of_baseline):
            mismatches.append(_sentence(of_rule, of_baseline))
        for table, kind in ((times, "time"), (nodes, "nodes")):
            pair_of = table.setdefault(job.instance_digest, ([], []))
            pair_of[0].append(_positive(of_rule, kind))
            pair_of[1].append(_positive(of_baseline, kind))
    if not times:
        raise SolverError(f"No pair of solves could be finished. {' '.join(failures)}")

    time_ratio = _ratio(times, config)
    return EvaluationSummary(
        rule=rule.name,
        baseline=baseline.name,
        ratio=time_ratio.ratio,
        ci_low=time_ratio.low,
        ci_high=time_ratio.high,
        confidence=config.confidence,
        node_ratio=_ratio(nodes, config).ratio,
        instances=len(times),
        seeds=config.seeds,
        wins=sum(_log_mean(ours) < _log_mean(theirs) for ours, theirs in times.values()),
        losses=sum(_log_mean(ours) > _log_mean(theirs) for ours, theirs in times.values()),
        rows=tuple(rows),
        failures=tuple(failures),
        mismatches=tuple(mismatches),
        note=time_ratio.note,
    )


def disagree(a: SolveResult, b: SolveResult) -> bool:
    """Whether two finished solves of one model prove different things."""
    if not (a.finished and b.finished):
        return False
    if a.status != b.status:
        # SCIP may stop at "infeasible or unbounded", which contradicts neither.
        return {a.status, b.status} not in ({"inforunbd", "infeasible"}, {"inforunbd", "unbounded"})
    if a.primal_bound is None or b.primal_bound is None:
        return a.primal_bound is not b.primal_bound
    scale = max(1.0, abs(a.primal_bound), abs(b.primal_bound))
    return abs(a.primal_bound - b.primal_bound) > OBJECTIVE_TOLERANCE * scale


def contradictions(results: Iterable[SolveResult]) -> tuple[str, ...]:
    """Return a sentence per instance of which two solves prove different things; there should be none.

    Each solve is compared with the first finished one of its instance.
    """
    proven: dict[str, SolveResult] = {}
    found: dict[str, str] = {}
    for result in results:
        first = proven.get(result.instance)
        if first is None:
            if result.finished:
                proven[result.instance] = result
        elif disagree(first, result):
            found.setdefault(result.instance, _sentence(first, result))
    return tuple(found.values())


def _sentence(a: SolveResult, b: SolveResult) -> str:
    return (
        f"{a.instance}: {a.brancher} ended {a.status} with {a.primal_bound}, "
        f"{b.brancher} ended {b.status} with {b.primal_bound}."
    )


def _positive(result: SolveResult, kind: str) -> float:
    return max(result.cpu_s, 1e-6) if kind == "time" else max(float(result.nodes), 1.0)


def _log_mean(values: Sequence[float]) -> float:
    return math.fsum(math.log(value) for value in values) / len(values)


def _ratio(table: dict[str, tuple[list[float], list[float]]], config: EvaluationConfig) -> RatioInterval:
    ours = [pair[0] for pair in table.values()]
    theirs = [pair[1] for pair in table.values()]
    return ratio_interval(ours, theirs, confidence=config.confidence, rng=np.random.default_rng(0))
