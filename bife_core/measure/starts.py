"""F_LF of a start method: how near its starts come to the best objectives known; no instance is solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from bife_core.base.values import Value
from bife_core.instances.base import Instance
from bife_core.solver.scip.cost import LARGEST_GAP, primal_gap
from bife_core.solver.scip.reader import read_model
from bife_core.solver.starts.method import StartMethod, give_starts
from bife_core.workers import WorkerFailure, Workers

_GRACE_S = 30.0
"""Wall seconds beyond twice the limit that a worker may take: reading the instance, a shared core."""


class StartScore(Value):
    """F_LF of a start method, 1 minus the mean primal gap, with gap and sentence by instance, and CPU seconds."""

    f_lf: float
    gaps: tuple[float, ...]
    sentences: tuple[str, ...]
    cpu_s: float


def score_start(
    start: StartMethod,
    instances: Sequence[Instance],
    objectives: Mapping[str, float],
    pool: Workers,
    limit_s: float,
) -> StartScore:
    """Have a start method propose starts for instances in `limit_s` CPU seconds each, by their best `objectives`.

    These are by digest (`best_known` of stored solves). Without a whole solution that SCIP finds feasible, or if the
    worker fails, the gap of an instance is 1. A `KeyError` says that an instance has no objective.
    """
    start.prepare()
    facts = {"start": start.model_dump(mode="json"), "limit_s": limit_s}
    jobs = [{**facts, "path": str(each.path), "best": objectives[each.digest]} for each in instances]
    futures = [
        pool.submit_batch(
            f"{__name__}:start_job",
            [job],
            limit_s=2.0 * limit_s + _GRACE_S,
            reads=[each.path],
            processes=start.source is not None,
        )[0]
        for each, job in zip(instances, jobs, strict=True)
    ]
    scores = list[tuple[float, str, float]]()
    for future in futures:
        try:
            scores.append(tuple(future.result()))
        except WorkerFailure as failure:
            if failure.kind in ("unmade", "closed"):
                raise
            scores.append((LARGEST_GAP, str(failure), limit_s))
    gaps, sentences, seconds = zip(*scores, strict=True)
    return StartScore(f_lf=1.0 - fmean(gaps), gaps=gaps, sentences=sentences, cpu_s=sum(seconds))


def start_job(path: str, start: dict[str, Any], limit_s: float, best: float) -> tuple[float, str, float]:
    """Return gap, sentence and CPU seconds of a start method on an instance."""
    model = read_model(Path(path))
    started = give_starts(model, StartMethod.model_validate(start), limit_s)
    gap = primal_gap(started.objective, best, model.getObjectiveSense() == "maximize")
    return gap, started.sentence, started.cpu_s
