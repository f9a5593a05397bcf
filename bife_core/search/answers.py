"""From answers to candidates: whether answers fit their requests, and what an answer makes of a candidate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, overload

from bife_core.search.types import (
    Answer,
    Candidate,
    Request,
    SampleAnswer,
    SampleRequest,
    SolveAnswer,
)

_FIDELITY: Final = {"sample": ("f_lf", "F_LF"), "solve": ("f_hf", "F_HF")}


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


@overload
def settle(answer: SampleAnswer) -> SampleAnswer: ...


@overload
def settle(answer: SolveAnswer) -> SolveAnswer: ...


def settle(answer: Answer) -> Answer:
    """Turn a missing or non-finite fidelity into a failure with its reason; settling twice changes nothing.

    A settled answer holds a failure or a finite fidelity, so it survives JSON, which knows no NaN.
    """
    field, label = _FIDELITY[answer.kind]
    value: float | None = getattr(answer, field)
    if value is not None and math.isfinite(value):
        return answer
    reason = answer.failure
    if reason is None:
        reason = f"no {label} was reported" if value is None else f"{label} is {value}, not a finite number"
    return answer.model_copy(update={field: None, "failure": reason})


def sampled_candidate(
    request: SampleRequest, answer: SampleAnswer, duplicate_of: str | None = None
) -> Candidate:
    """Return the candidate a sample became.

    Parameters
    ----------
    duplicate_of : str or None
        Id of the first candidate with the same hash, if there is one. A failure of the sample's own is the
        reason kept.
    """
    answer = settle(answer)
    failure = answer.failure
    if failure is None and duplicate_of is not None:
        failure = f"duplicate of {duplicate_of}"
    return Candidate(
        id=request.id,
        generation=request.generation,
        operator=request.operator,
        parents=tuple(parent.id for parent in request.parents),
        sha=answer.sha,
        source=answer.source,
        thought=answer.thought,
        f_lf=answer.f_lf,
        failure=failure,
    )


def solved_candidate(candidate: Candidate, answer: SolveAnswer) -> Candidate:
    """Return the candidate with its F_HF, or with the reason why its solves gave none."""
    answer = settle(answer)
    f_hf = answer.f_hf if answer.failure is None else None
    return candidate.model_copy(update={"f_hf": f_hf, "failure": answer.failure})
