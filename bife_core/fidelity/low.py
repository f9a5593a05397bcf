"""F_LF: how well a rule chooses where strong branching chose (paper, section Low-Fidelity Surrogate).

Higher is better; `bife_core.fidelity.measures` has what it may be. A rule's choice is its first largest score; a score
that is not a number never wins.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from bife_core.decisions.recorded import Decisions, numbers_in
from bife_core.errors import DecisionsError, RuleError
from bife_core.fidelity.config import LowFidelityConfig, LowMeasure
from bife_core.fidelity.constants import tuned
from bife_core.fidelity.measures import Rows, Ties, Yardstick, behaviour_of, chosen_rows
from bife_core.fidelity.scoring import scores_of
from bife_core.methods.loading import as_scoring
from bife_core.rules import REFERENCE_RULES, Rejection, compile_rule
from bife_core.rules.types import CompiledRule, RejectionKind
from bife_core.sandbox import WorkerFailure, Workers
from bife_core.scip.python_branching import Scoring
from bife_core.values import Value

MEMORY_MB: Final = 2048.0
"""Address space a rule may take while it is compiled and scored, beside what the recorded decisions take."""

TIME_LIMIT_S: Final = 30.0
"""Wall seconds before a rule that is scored is stopped and rejected (the paper's limit)."""

_SOUND_RULE: Final = "pseudocost_product"

_ROOM_PER_NUMBER: Final = 32.0
"""Bytes in memory per number in a file of decisions: as it is read, in columns, and with room for a copy."""

_TUNING_ROOM: Final = 3.0
"""How many times as long as scoring it so often would take, the tuning of a rule may take."""


def low_fidelity(
    method: Scoring | Callable[..., float] | str | Path,
    decisions: Decisions,
    ties: Ties = "any",
    measure: LowMeasure = "accuracy",
) -> float:
    """Return F_LF, by default the share of decisions in which a method chooses as the expert did.

    Parameters
    ----------
    method : CompiledRule, Scorer, function, str or Path
        A rule or another method that scores candidates, or what names one (see `load_method`).
    decisions : Decisions
        At least one.
    ties : {"any", "first"}
        Whether every best-scored candidate is right or only the first.
    measure : {"accuracy", "depth_regret"}
        What F_LF is, see `LowFidelityConfig`.

    Raises
    ------
    DecisionsError
        If there is no decision.
    RuleError
        If there is no such method, it scores no candidates, or it fails on one.

    Notes
    -----
    Runs in this process and without a time limit; use `score_low` for a rule of unknown origin.
    """
    if not isinstance(decisions, Decisions):
        raise DecisionsError(
            f"low_fidelity was expected to get Decisions and got {type(decisions).__name__}; load a file of them with "
            "bife_core.Decisions.load(path)."
        )
    yardstick = Yardstick(decisions, measure, ties)
    scores = scores_of(as_scoring(method), decisions)
    return yardstick.f_lf(chosen_rows(scores, decisions.offsets))


def choices_of(rule: CompiledRule, decisions: Decisions) -> Rows:
    """Return the row a rule chooses in each decision, or -1 where none of its scores is a number.

    Raises
    ------
    RuleError
        If the rule raises on a candidate.
    """
    chosen: Rows = chosen_rows(scores_of(rule, decisions), decisions.offsets)
    return chosen


class LowScore(Value):
    """F_LF of a rule, or the reason there is none.

    Attributes
    ----------
    kind : str or None
        What is wrong with the rule, one of `bife_core.rules.types.RejectionKind`; None if nothing is.
    sha : str or None
        Hash of the rule; None if the source is no rule.
    behaviour : str or None
        Hash of what the rule chose; rules that choose alike in all decisions of the file have the same.
    source : str or None
        The rule with its numbers tuned, which all else is of then; None if it is as it was written.
    seconds : float
        CPU seconds of compiling and scoring.
    """

    f_lf: float | None = None
    failure: str | None = None
    kind: RejectionKind | None = None
    sha: str | None = None
    behaviour: str | None = None
    source: str | None = None
    seconds: float = 0.0


def score_low(
    source: str,
    decisions: Path | None,
    config: LowFidelityConfig,
    pool: Workers,
    *,
    limit_s: float = TIME_LIMIT_S,
) -> LowScore:
    """Compile and score a rule in a worker process that is killed at the time limit, and tune its numbers in another.

    Without decisions the rule is only checked and compiled, and its score has no F_LF. A rule that has its worker
    end twice by a crash has no score; nor has one whose worker is killed from outside again and again, for want of
    memory say, while that of a sound rule lives.

    Raises
    ------
    DecisionsError
        If there is no such file.
    WorkerFailure
        If the call failed for a reason that is not the rule's: the pool is closed, the file holds no decisions
        that the measure goes by, the machine fails a sound rule too.
    """
    path = None if decisions is None else str(decisions)
    arguments = {"decisions": path, "measure": config.measure, "ties": config.ties}
    numbers = 0 if decisions is None else numbers_in(decisions)
    reads = [] if decisions is None else [decisions]

    def ask(text: str, tune: int = 0, limit_s: float = limit_s) -> LowScore:
        answer = pool.submit(
            "bife_core.fidelity.low:work",
            arguments | {"source": text, "tune": tune},
            limit_s=limit_s,
            memory_mb=MEMORY_MB + _ROOM_PER_NUMBER * numbers / 2**20,
            reads=reads,
        )
        return LowScore.model_validate(answer.result())

    try:
        score = ask(source)
    except WorkerFailure as failure:
        if not failure.by_machine:
            return _out(failure, limit_s)
        # The machine may have failed, not the rule. A sound rule tells: if its worker is lost too, that is raised.
        ask(REFERENCE_RULES[_SOUND_RULE].source)
        try:
            score = ask(source)
        except WorkerFailure as again:
            return _out(again, limit_s)
    if not config.tune or score.f_lf is None or decisions is None:
        return score
    tuning_limit_s = max(limit_s, _TUNING_ROOM * config.tune * score.seconds)
    try:
        better = ask(source, config.tune, tuning_limit_s)
    except WorkerFailure as failure:
        if failure.kind == "closed":
            raise
        return score  # sound as its author wrote it; its numbers stay
    if better.f_lf is None:
        return score
    return better.model_copy(update={"seconds": score.seconds + better.seconds})


def _out(failure: WorkerFailure, limit_s: float) -> LowScore:
    """Return the score of a rule that failed its worker; what is not the rule's fault is raised again."""
    if failure.kind == "timeout":
        why = f"The rule was stopped at its limit of {limit_s:g} s."
        return LowScore(failure=why, kind="timeout", seconds=limit_s)
    if failure.kind == "died":
        return LowScore(failure=f"The rule ended its worker process twice: {failure}", kind="runtime")
    raise failure


def work(source: str, decisions: str | None, measure: LowMeasure, ties: Ties, tune: int) -> dict[str, Any]:
    """Score a rule in this process, its numbers tuned if that is wanted; what `score_low` calls in a worker."""
    recorded = None if decisions is None else _prepared(decisions, measure, ties)
    started = time.process_time()
    try:
        better = tuned(source, *recorded, tune) if recorded is not None and tune else None
        score = _scored(better or source, recorded).model_copy(update={"source": better})
    except Exception as error:  # noqa: BLE001 - the decisions are read: whatever happens now, the rule did it
        what = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        score = LowScore(kind="runtime", failure=f"Scoring the rule failed ({what}).")
    return score.model_copy(update={"seconds": time.process_time() - started}).model_dump()


def _scored(source: str, recorded: tuple[Decisions, Yardstick] | None) -> LowScore:
    rule = compile_rule(source)
    if isinstance(rule, Rejection):
        return LowScore(failure=rule.reason, kind=rule.kind)
    if recorded is None:
        return LowScore(sha=rule.sha)
    decisions, yardstick = recorded
    try:
        scores = scores_of(rule, decisions)
    except RuleError as error:
        return LowScore(failure=str(error), kind="runtime", sha=rule.sha)
    chosen = chosen_rows(scores, decisions.offsets)
    if np.all(chosen < 0):
        why = "The rule chooses no candidate in any decision: every score is NaN or minus infinity."
        return LowScore(failure=why, kind="runtime", sha=rule.sha)
    return LowScore(
        f_lf=yardstick.f_lf(chosen),
        sha=rule.sha,
        behaviour=behaviour_of(chosen),
    )


@lru_cache(maxsize=2)
def _prepared(path: str, measure: LowMeasure, ties: Ties) -> tuple[Decisions, Yardstick]:
    decisions = Decisions.load(path)
    return decisions, Yardstick(decisions, measure, ties)
