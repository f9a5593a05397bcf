"""F_LF: how often a rule picks what strong branching picked (paper, section Low-Fidelity Surrogate).

Higher is better. A rule's choice is its first largest score; a score that is not a number never wins. With ties
``"any"`` every candidate that shares the best expert score is right, with ``"first"`` only the first of them.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from bife_core.config import LowFidelityConfig, Settings
from bife_core.decisions import Decisions
from bife_core.errors import DecisionsError, RuleError
from bife_core.features import N_FEATURES
from bife_core.native import jit
from bife_core.rules import Rejection, compile_rule
from bife_core.rules.types import CompiledRule
from bife_core.sandbox import WorkerFailure, WorkerPool, submit_repeated
from bife_core.scip.callback import best_candidate
from bife_core.scip.memory import call_scorer

Ties = Literal["any", "first"]

_BLOCK: Final = 256
"""Rows scored at a time: their features then stay in the processor's cache."""


@jit
def _score_native(scorer, columns, used, scores):
    """Score all rows, copying only the columns the rule reads into a block of full rows."""
    block = np.zeros((_BLOCK, N_FEATURES))
    n_rows = columns.shape[1]
    start = 0
    while start < n_rows:
        size = min(_BLOCK, n_rows - start)
        for feature in used:
            for row in range(size):
                block[row, feature] = columns[feature, start + row]
        if call_scorer(scorer, block.ctypes.data, size, scores.ctypes.data + 8 * start) != 0:
            return False
        start += size
    return True


@jit
def _count_right(scores, offsets, right):
    """Count the decisions whose chosen row is marked right."""
    count = 0
    for decision in range(len(offsets) - 1):
        start = offsets[decision]
        chosen = best_candidate(scores[start : offsets[decision + 1]])
        if chosen >= 0 and right[start + chosen]:
            count += 1
    return count


def _right_rows(decisions: Decisions, ties: Ties) -> npt.NDArray[np.bool_]:
    best = decisions.best
    if ties == "any":
        return best
    first = np.zeros_like(best)
    first[[start + int(np.argmax(best[start:end])) for start, end in _ranges(decisions)]] = True
    return first


def _ranges(decisions: Decisions) -> list[tuple[int, int]]:
    return list(zip(decisions.offsets[:-1].tolist(), decisions.offsets[1:].tolist(), strict=True))


def scores_of(rule: CompiledRule, decisions: Decisions) -> npt.NDArray[np.float64]:
    """Return the rule's score of every recorded candidate.

    Raises
    ------
    RuleError
        If the rule raises on a candidate.
    """
    if not rule.native:
        return rule.score(decisions.matrix)
    used = np.array(sorted(range(N_FEATURES) if rule.features is None else rule.features), dtype=np.int64)
    scores = np.empty(decisions.n_candidates)
    if not _score_native(rule.address, decisions.columns, used, scores):
        raise RuleError(f"Rule {rule.name} raised an error while scoring recorded candidates.")
    return scores


def low_fidelity(rule: CompiledRule, decisions: Decisions, ties: Ties = "any") -> float:
    """Return F_LF, the share of decisions in which the rule chose as the expert did.

    Parameters
    ----------
    rule : CompiledRule
    decisions : Decisions
        At least one.
    ties : {"any", "first"}
        Whether every best-scored candidate is right or only the first.

    Raises
    ------
    DecisionsError
        If there is no decision.
    RuleError
        If the rule raises on a candidate.

    Notes
    -----
    Runs in this process and without a time limit; use `score_low` for a rule nobody has read.
    """
    if len(decisions) == 0:
        raise DecisionsError("F_LF needs at least one recorded decision; the file holds none.")
    scores = scores_of(rule, decisions)
    return float(_count_right(scores, decisions.offsets, _right_rows(decisions, ties)) / len(decisions))


class LowScore(Settings):
    """F_LF of a rule, or the reason there is none.

    Attributes
    ----------
    sha : str or None
        Hash of the rule; None if the source is no rule.
    native : bool
        Whether the rule ran as machine code.
    seconds : float
        CPU seconds of compiling and scoring; of a rule that was stopped, its limit.
    """

    f_lf: float | None = None
    failure: str | None = None
    sha: str | None = None
    native: bool = False
    seconds: float = 0.0


def score_low(source: str, decisions: Path, config: LowFidelityConfig, pool: WorkerPool) -> LowScore:
    """Compile and score a rule in a worker process that is killed at the time limit."""
    arguments = {"source": source, "decisions": str(decisions), "ties": config.ties}
    try:
        answer = submit_repeated(
            pool, "bife_core.fidelity.low:work", arguments, limit_s=config.time_limit_s
        ).result()
    except WorkerFailure as failure:
        if failure.kind == "closed":
            raise
        seconds = config.time_limit_s if failure.kind == "timeout" else 0.0
        return LowScore(failure=str(failure), seconds=seconds)
    return LowScore.model_validate(answer)


def work(source: str, decisions: str, ties: Ties) -> dict[str, Any]:
    """Score a rule in this process; what `score_low` calls in a worker."""
    started = time.process_time()
    rule = compile_rule(source)
    if isinstance(rule, Rejection):
        return LowScore(failure=rule.reason, seconds=time.process_time() - started).model_dump()
    try:
        f_lf = low_fidelity(rule, _load(decisions), ties)
    except RuleError as error:
        seconds = time.process_time() - started
        return LowScore(failure=str(error), sha=rule.sha, native=rule.native, seconds=seconds).model_dump()
    return LowScore(
        f_lf=f_lf, sha=rule.sha, native=rule.native, seconds=time.process_time() - started
    ).model_dump()


@lru_cache(maxsize=2)
def _load(path: str) -> Decisions:
    return Decisions.load(path)
