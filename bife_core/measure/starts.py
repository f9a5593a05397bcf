"""F_LF of a start method: how near its starts come to the best objectives known, and how soon; without solves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from bife_core.base.errors import RuleError
from bife_core.base.values import Value
from bife_core.base.wording import counted
from bife_core.instances.base import Instance
from bife_core.measure.config import LowFidelityConfig
from bife_core.measure.context import Reference, SolveContext
from bife_core.measure.low import LowScore
from bife_core.measure.solves import OutOfTimeError
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import method_of
from bife_core.solver.scip.cost import LARGEST_GAP, primal_gap
from bife_core.solver.scip.reader import read_model
from bife_core.solver.starts.method import StartMethod, give_starts
from bife_core.workers import WorkerFailure, Workers

_GRACE_S = 30.0
"""Wall seconds beyond twice the limit that a worker may take: reading the instance, a shared core."""


class StartScore(Value):
    """F_LF of a start method, with the primal gap of its best start and a sentence by instance, and CPU seconds.

    The gap to a best objective known that a start improves on is negative. `entered` counts the starts that SCIP got.
    """

    f_lf: float
    gaps: tuple[float, ...]
    sentences: tuple[str, ...]
    cpu_s: float
    entered: int = 0


def score_source(
    source: str,
    instances: Sequence[Instance],
    reference: Reference,
    context: SolveContext,
    config: LowFidelityConfig,
) -> LowScore:
    """Check a start method, in Python or as JSON, and measure F_LF on the instances that RPB solves; see `score_start`.

    Without instances it is only checked. One of whose starts SCIP gets none has no F_LF, but a failure.
    """
    try:
        method = method_of(source, "start")
    except RuleError as error:
        return LowScore(failure=str(error), kind="syntax")
    if not isinstance(method, Configuration) or method.start is None:
        return LowScore(failure=f"A start method was expected, not a {method.kind} method.", kind="signature")
    if not instances:
        return LowScore(sha=method.identity)
    if context.over():
        raise OutOfTimeError("The time was up before the start method was scored.")
    usable = [each for each, result in zip(instances, reference.results, strict=True) if result is not None]
    usual_s = [result.cpu_s for result in reference.results if result is not None]
    score = score_start(method.start, usable, reference.objectives, context.pool, config.start_s, usual_s)
    if not score.entered:
        few = next((sentence for sentence in score.sentences if "failed" in sentence), score.sentences[0])
        failure = f"It gave SCIP no start on any of {counted(len(usable), 'instance')}: {few}"
        return LowScore(failure=failure, kind="runtime", seconds=score.cpu_s)
    return LowScore(f_lf=score.f_lf, sha=method.identity, seconds=score.cpu_s)


def score_start(
    start: StartMethod,
    instances: Sequence[Instance],
    objectives: Mapping[str, float],
    pool: Workers,
    limit_s: float,
    usual_s: Sequence[float] = (),
) -> StartScore:
    """Have a start method propose starts for instances in `limit_s` CPU seconds each, by their best `objectives`.

    These are by digest (`best_known` of stored solves); where there is none, a solution has the gap 0. Without a whole
    solution that SCIP finds feasible, or if the worker fails, the gap of an instance is 1. F_LF is 1 minus the mean
    over instances of the gap's mean over `usual_s` CPU seconds, those of a solve, in which it is 1 until the method has
    ended; without these, of the gap in the end. It is negative for a method that takes longer than the solve.
    """
    start.prepare()
    facts = {"start": start.model_dump(mode="json"), "limit_s": limit_s}
    jobs = [{**facts, "path": str(each.path), "best": objectives.get(each.digest)} for each in instances]
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
    scores = list[tuple[float, str, float, int]]()
    for future in futures:
        try:
            scores.append(tuple(future.result()))
        except WorkerFailure as failure:
            if failure.kind in ("unmade", "closed"):
                raise
            scores.append((LARGEST_GAP, f"The start method failed: {failure}", limit_s, 0))
    gaps, sentences, seconds, entered = zip(*scores, strict=True)
    usual = usual_s or [math.inf] * len(gaps)
    waited = [took / of for took, of in zip(seconds, usual, strict=True)]
    f_lf = 1.0 - fmean(share + (1.0 - share) * gap for share, gap in zip(waited, gaps, strict=True))
    cpu_s = sum(seconds)
    return StartScore(f_lf=f_lf, gaps=gaps, sentences=sentences, cpu_s=cpu_s, entered=sum(entered))


def start_job(
    path: str, start: dict[str, Any], limit_s: float, best: float | None
) -> tuple[float, str, float, int]:
    """Return gap, sentence, CPU seconds and number of starts of a start method on an instance."""
    model = read_model(Path(path))
    started = give_starts(model, StartMethod.model_validate(start), limit_s)
    maximise, objective = model.getObjectiveSense() == "maximize", started.objective
    best = objective if best is None else best
    gap = primal_gap(objective, best, maximise)
    if objective is not None and gap == 0.0:  # as good or better
        gap = -primal_gap(best, objective, maximise)
    return gap, started.sentence, started.cpu_s, started.entered
