"""From answers to samples: whether answers fit their requests, and what an answer makes of a sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from bife_core.search.types import (
    Answer,
    Request,
    Sample,
    SampleAnswer,
    SampleRequest,
    SolveAnswer,
    TrialAnswer,
)

AnyAnswer = TypeVar("AnyAnswer", bound=Answer)


def check_answers(requests: Sequence[Request], answers: Sequence[Answer]) -> None:
    """Make sure there is one answer per request, in order and of its kind.

    Raises
    ------
    ValueError
        If nothing was asked, or if a number, kind or id differs; the text names the first difference.
    """
    if not requests:
        raise ValueError("Answers came but nothing was asked: call ask() before every tell().")
    if len(answers) != len(requests):
        raise ValueError(
            f"Expected {len(requests)} answers, one per request of the last ask(), found {len(answers)}."
        )
    for position, (request, answer) in enumerate(zip(requests, answers, strict=True)):
        if (request.kind, request.id) != (answer.kind, answer.id):
            raise ValueError(
                f"Expected the answer to the {request.kind} request {request.id!r} at position {position}, "
                f"found a {answer.kind} answer {answer.id!r}: give the answers in the order of the requests."
            )


def settle(answer: AnyAnswer) -> AnyAnswer:
    """Turn numbers that are not finite into a failure with its reason; settling twice changes nothing.

    A settled answer survives JSON, which knows no NaN.
    """
    match answer:
        case SampleAnswer(f_lf=float() as value) if not math.isfinite(value):
            reason = answer.failure or f"F_LF is {value}, not a finite number"
            return answer.model_copy(update={"f_lf": None, "failure": reason})
        case SolveAnswer(f_hf=float() as value) if not math.isfinite(value):
            reason = answer.failure or f"F_HF is {value}, not a finite number"
            return answer.model_copy(update={"f_hf": None, "failure": reason})
        case TrialAnswer(costs=tuple() as costs) if not all(map(math.isfinite, costs)):
            reason = answer.failure or f"A cost in {costs} is not a finite number"
            return answer.model_copy(update={"costs": None, "failure": reason})
    return answer


def answered_sample(request: SampleRequest, answer: SampleAnswer, duplicate_of: str | None = None) -> Sample:
    """Return the sample a request became.

    Parameters
    ----------
    duplicate_of : str or None
        Id of the first sample with the same hash, if there is one. A failure of the sample's own is the
        reason kept.
    """
    answer = settle(answer)
    failure = answer.failure
    if failure is None and request.scored and answer.f_lf is None:
        failure = "no F_LF was reported"
    if failure is None and duplicate_of is not None:
        failure = f"duplicate of {duplicate_of}"
    return Sample(
        id=request.id,
        generation=request.generation,
        operator=request.operator,
        parents=tuple(parent.id for parent in request.parents),
        sha=answer.sha,
        source=answer.source,
        skeleton=answer.skeleton,
        thought=answer.thought,
        behaviour=answer.behaviour,
        f_lf=answer.f_lf,
        line=None if request.fit is None else request.fit.line,
        failure=failure,
    )


def solved_sample(sample: Sample, answer: SolveAnswer) -> Sample:
    """Return the sample with its F_HF, or with the reason why its solves gave none."""
    answer = settle(answer)
    if answer.failure is None and answer.eliminated is not None:
        return sample.model_copy(update={"f_hf": None, "eliminated": answer.eliminated, "failure": None})
    if answer.failure is None and answer.f_hf is not None:
        return sample.model_copy(update={"f_hf": answer.f_hf, "failure": None})
    return sample.model_copy(update={"f_hf": None, "failure": answer.failure or "no F_HF was reported"})


def trial_costs(answer: TrialAnswer, instances: int) -> tuple[float, ...] | str:
    """Return the costs of a trial on so many instances, or the reason there are none."""
    answer = settle(answer)
    if answer.failure is not None or answer.costs is None:
        return answer.failure or "no costs were reported"
    if len(answer.costs) != instances:
        return f"{len(answer.costs)} costs were reported for {instances} instances"
    return answer.costs
