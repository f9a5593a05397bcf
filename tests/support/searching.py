"""Driving a search in tests: the loop that asks and tells, and worlds of answers that depend on ids alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field, TypeAdapter

from bife_core.rules.skeletons import parse_skeleton
from bife_core.search import (
    Answer,
    BifeSearch,
    ReflectionAnswer,
    ReflectionRequest,
    Request,
    Sample,
    SampleAnswer,
    SampleRequest,
    Search,
    SolveAnswer,
    SolveRequest,
    TrialAnswer,
    TrialRequest,
    open_search,
    sample_seed,
)
from bife_core.search.answers import settle
from bife_core.search.config import SearchConfig

SKELETON = """
BOUNDS = {{"weight": (0.0, {high}.0)}}


def candidate_variable_score(variable_features, weight=0.5):
    return variable_features[18] + weight * variable_features[20] + {high}.0
"""

_READ: TypeAdapter[Answer] = TypeAdapter(Annotated[Answer, Field(discriminator="kind")])

Asked = tuple[tuple[Request, ...], ...]


def drive(search: Search, answer: Callable[[Request], Answer], steps: int | None = None) -> Asked:
    """Run a search, to its end or for some steps, and return what it asked."""
    asked: list[tuple[Request, ...]] = []
    while len(asked) != steps and (requests := search.ask()):
        asked.append(requests)
        search.tell(tuple(answer(request) for request in requests))
    return tuple(asked)


def told(search: Search, *answers: Answer) -> None:
    """Have a search ask, and tell it these answers."""
    search.ask()
    search.tell(answers)


def sample(name: str, f_lf: float | None = None, **fields: Any) -> SampleAnswer:
    """Answer a request for a rule."""
    return SampleAnswer(id=name, f_lf=f_lf, **fields)


def solve(name: str, f_hf: float | None = None, **fields: Any) -> SolveAnswer:
    """Answer a request to solve."""
    return SolveAnswer(id=name, f_hf=f_hf, **fields)


def table(f_lf: dict[str, float], f_hf: dict[str, float] | None = None) -> Callable[[Request], Answer]:
    """Answer from tables by id; a sample that is not in its table fails, and so does a solve."""

    def answer(request: Request) -> Answer:
        assert isinstance(request, SampleRequest | SolveRequest)
        if isinstance(request, SampleRequest):
            score = f_lf.get(request.id)
            return SampleAnswer(id=request.id, f_lf=score, failure=None if score is not None else "no code")
        cost = (f_hf or {}).get(request.id)
        return SolveAnswer(id=request.id, f_hf=cost, failure=None if cost is not None else "solver died")

    return answer


@dataclass(frozen=True)
class World:
    """Answers drawn from the id of a request: coarse fidelities so that ties occur, repeated hashes, failures."""

    seed: int
    failing: float = 0.0
    repeating: float = 0.0
    distinct: int = 6

    def __call__(self, request: Request) -> Answer:
        rng = np.random.default_rng([self.seed, sample_seed(0, request.id), request.kind == "solve"])
        fails, repeats, kind = rng.random(3)
        value = float(rng.integers(self.distinct)) / self.distinct
        if isinstance(request, ReflectionRequest):
            text = None if fails < self.failing else f"Favour slack, says {request.id}."
            return ReflectionAnswer(id=request.id, text=text, failure=None if text else "no answer")
        if isinstance(request, TrialRequest):
            costs = tuple(float(cost) for cost in rng.uniform(1.0, 4.0, len(request.instances)))
            bad = (
                TrialAnswer(id=request.id, failure="killed"),
                TrialAnswer(id=request.id, costs=(math.nan,)),
            )
            return bad[int(kind < 0.5)] if fails < self.failing else TrialAnswer(id=request.id, costs=costs)
        if isinstance(request, SampleRequest) and request.operator == "skeleton" and fails >= self.failing:
            skeleton = parse_skeleton(SKELETON.format(high=1 + sample_seed(0, request.id) % 1000))
            sha = f"sha{rng.integers(3)}" if repeats < self.repeating else f"sha-{request.id}"
            return SampleAnswer(id=request.id, sha=sha, source=skeleton.bound(), skeleton=skeleton.source)
        if isinstance(request, SampleRequest) and not request.scored and fails >= self.failing:
            return SampleAnswer(id=request.id, sha=f"sha-{request.id}")
        if isinstance(request, SampleRequest):
            sha = f"sha{rng.integers(3)}" if repeats < self.repeating else f"sha-{request.id}"
            if fails < self.failing:
                kinds: tuple[SampleAnswer, ...] = (
                    SampleAnswer(id=request.id, failure="no code"),
                    SampleAnswer(id=request.id, sha=sha, f_lf=math.nan),
                    SampleAnswer(id=request.id, sha=sha, f_lf=value, failure="too slow"),
                )
                return kinds[int(kind * len(kinds))]
            return SampleAnswer(id=request.id, sha=sha, f_lf=value)
        if fails < self.failing:
            return SolveAnswer(id=request.id, f_hf=math.nan if kind < 0.5 else None)
        return SolveAnswer(id=request.id, f_hf=-10 * value)


def rebuilt(config: SearchConfig, told: Sequence[tuple[Answer, ...]]) -> Search:
    """Return the search that was told these answers, by way of JSON."""
    search = open_search(config)
    for answers in told:
        search.ask()
        search.tell(tuple(_READ.validate_json(settle(answer).model_dump_json()) for answer in answers))
    return search


def ids(samples: tuple[Sample, ...]) -> list[str]:
    """Return the ids of samples."""
    return [sample.id for sample in samples]


def wishes(search: BifeSearch) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """Return kind, id, operator and parents of what is asked next."""
    return [
        (
            request.kind,
            request.id,
            request.operator if isinstance(request, SampleRequest) else "",
            tuple(ids(request.parents)) if isinstance(request, SampleRequest) else (),
        )
        for request in search.ask()
    ]
