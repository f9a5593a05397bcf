"""Answers to searches in tests, by hand and from tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bife_core.search import Answer, BaseSearch, BifeSearch, Request, Sample, SampleRequest, SolveRequest


def answered(search: BaseSearch, *answers: Answer) -> None:
    """Have a search ask, and tell it these answers."""
    search.ask()
    search.tell(answers)


def sample(name: str, f_lf: float | None = None, **fields: Any) -> Answer:
    """Answer a request for a rule."""
    return Answer(id=name, f_lf=f_lf, **fields)


def solve(name: str, f_hf: float | None = None, **fields: Any) -> Answer:
    """Answer a request to solve."""
    return Answer(id=name, f_hf=f_hf, **fields)


def table(f_lf: dict[str, float], f_hf: dict[str, float] | None = None) -> Callable[[Request], Answer]:
    """Answer from tables by id; a sample that is not in its table fails, and so does a solve."""

    def answer(request: Request) -> Answer:
        assert isinstance(request, SampleRequest | SolveRequest)
        if isinstance(request, SampleRequest):
            score = f_lf.get(request.id)
            return Answer(id=request.id, f_lf=score, failure=None if score is not None else "no code")
        cost = (f_hf or {}).get(request.id)
        return Answer(id=request.id, f_hf=cost, failure=None if cost is not None else "solver died")

    return answer


def ids(samples: tuple[Sample, ...]) -> list[str]:
    """Return the ids of samples."""
    return [sample.id for sample in samples]


def wishes(search: BifeSearch) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """Return kind, id, operator and parents of what is asked next."""
    asked = []
    for one in search.ask():
        how = (one.operator, tuple(ids(one.parents))) if isinstance(one, SampleRequest) else ("", ())
        asked.append((one.kind, one.id, *how))
    return asked
