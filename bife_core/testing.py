"""Contract tests for packages that extend BiFE: call a check in a test of your own.

A check raises `AssertionError` with a sentence where the contract of `docs/extending.md` is broken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from bife_core.search import (
    Answer,
    ReflectionRequest,
    Request,
    SampleRequest,
    Search,
    SolveRequest,
    TrialRequest,
    open_search,
    sample_seed,
)
from bife_core.search.config import SearchConfig

_SOURCE: Final = """
def candidate_variable_score(variable_features):
    return variable_features[18] + 0.5 * variable_features[20] + {number}.0
"""

Asked = tuple[tuple[Request, ...], ...]


@dataclass(frozen=True)
class World:
    """Answers drawn from the id of a request alone, with ties.

    Attributes
    ----------
    seed : int
        Seed of all answers.
    failing, repeating : float
        Share of answers that are failures, and of samples whose rule was seen before.
    distinct : int
        Number of different fidelities; few make ties.
    """

    seed: int
    failing: float = 0.0
    repeating: float = 0.0
    distinct: int = 6

    def __call__(self, request: Request) -> Answer:
        """Answer one request."""
        rng = np.random.default_rng([self.seed, sample_seed(0, request.id), request.kind == "solve"])
        fails, repeats, kind = rng.random(3)
        value = float(rng.integers(self.distinct)) / self.distinct
        failed = bool(fails < self.failing)
        if isinstance(request, ReflectionRequest):
            text = None if failed else f"Favour slack, says {request.id}."
            return Answer(id=request.id, text=text, failure="no answer" if failed else None)
        if isinstance(request, TrialRequest):
            costs = tuple(float(cost) for cost in rng.uniform(1.0, 4.0, len(request.instances)))
            if failed and kind < 0.5:
                return Answer(id=request.id, costs=(math.nan,))
            return Answer(id=request.id, costs=() if failed else costs, failure="killed" if failed else None)
        if isinstance(request, SolveRequest):
            lost = math.nan if kind < 0.5 else None
            return Answer(id=request.id, f_hf=lost if failed else -10 * value)
        return self._sample(request, rng, failed, bool(repeats < self.repeating), kind, value)

    def _sample(
        self,
        request: SampleRequest,
        rng: np.random.Generator,
        failed: bool,
        repeated: bool,
        kind: float,
        value: float,
    ) -> Answer:
        sha = f"sha{rng.integers(3)}" if repeated else f"sha-{request.id}"
        if failed:
            return (
                Answer(id=request.id, failure="no code"),
                Answer(id=request.id, sha=sha, f_lf=math.nan if request.scored else None, failure="NaN"),
                Answer(id=request.id, sha=sha, f_lf=value if request.scored else None, failure="too slow"),
            )[int(kind * 3)]
        source = _SOURCE.format(number=1 + sample_seed(0, request.id) % 1000)
        return Answer(id=request.id, sha=sha, source=source, f_lf=value if request.scored else None)


WORLDS: Final = (
    World(seed=1),
    World(seed=2, failing=0.3, repeating=0.3),
    World(seed=3, failing=0.8),
    World(seed=4, failing=1.0),
)
"""Worlds that `check_search` runs a search in: none, some, most and all of the answers fail."""


def drive(search: Search, answer: Callable[[Request], Answer], steps: int | None = None) -> Asked:
    """Run a search, to its end or for some steps, and return what it asked."""
    asked: list[tuple[Request, ...]] = []
    while len(asked) != steps and (requests := search.ask()):
        asked.append(requests)
        search.tell(tuple(answer(request) for request in requests))
    return tuple(asked)


def rebuilt(config: SearchConfig, history: Sequence[tuple[Answer, ...]]) -> Search:
    """Return a new search that was told these answers, by way of JSON as a resumed study tells them."""
    search = open_search(config)
    for answers in history:
        search.ask()
        search.tell(tuple(Answer.model_validate_json(answer.model_dump_json()) for answer in answers))
    return search


def check_search(
    method: str,
    *,
    options: Mapping[str, Any] | None = None,
    samples: int = 20,
    initial: int = 5,
    population: int = 4,
) -> None:
    """Assert that a registered search keeps to the contract, in worlds where answers tie, repeat and fail.

    It asks for exactly its budget and ends, its requests have unique ids and seeds that follow from them, `ask` repeats
    itself until answered, answers that do not fit change nothing, the answers alone rebuild the search, and the best
    rule is the best by the fidelity the search goes by.

    Parameters
    ----------
    method : str
        Registered name of the search.
    options : mapping, optional
        Its `search.options`.
    samples, initial, population : int
        Sizes of the search.

    Raises
    ------
    AssertionError
        If it breaks the contract.
    """
    config = SearchConfig(
        method=method, samples=samples, initial=initial, population=population, options=dict(options or {})
    )
    for world in WORLDS:
        _check_requests(config, world)
        _check_rebuilding(config, world)
    other = config.model_copy(update={"seed": 1})
    asked = [drive(open_search(settings), World(seed=8)) for settings in (config, other)]
    assert asked[0] != asked[1], "another seed gives the same requests"


def _check_requests(config: SearchConfig, world: World) -> None:
    search = open_search(config)
    assert isinstance(search, Search), "it has not all members of bife_core.search.Search"
    seen: set[tuple[str, str]] = set()
    sampled = solved = 0
    while requests := search.ask():
        assert search.ask() == requests, "ask() gives other requests before they are answered"
        for request in requests:
            assert (request.kind, request.id) not in seen, f"the id {request.id} is used twice"
            seen.add((request.kind, request.id))
            if isinstance(request, SampleRequest):
                sampled += request.source is None
                assert request.seed == sample_seed(config.drawn, request.id), "a seed is not that of its id"
                assert request.scored == search.low_fidelity, "scored and low_fidelity differ"
                assert all(parent.valid for parent in request.parents), "a parent is a failure"
            elif isinstance(request, SolveRequest):
                solved += 1
                assert request.sample.valid, "a failure is to be solved with"
            elif isinstance(request, TrialRequest):
                places = set(range(search.training_instances))
                assert set(request.instances) <= places, "a trial is beyond the training instances"
        answers, before = tuple(world(request) for request in requests), search.samples
        for wrong in ((), answers[1:], (*answers, answers[0])):
            _assert_refused(search, wrong)
        assert (search.ask(), search.samples) == (requests, before), (
            "answers that do not fit change the search"
        )
        search.tell(answers)
    assert sampled == config.samples, f"{sampled} samples were asked for, not {config.samples}"
    found = sum(summary.samples for summary in search.summaries)
    assert found == len(search.samples), "the summaries do not count every sample"
    goes_by = "f_hf" if solved else "f_lf"
    known = [getattr(rule, goes_by) for rule in search.samples if rule.valid]
    best = max((value for value in known if value is not None), default=None)
    assert (None if search.best is None else getattr(search.best, goes_by)) == best, "best is not the best"


def _assert_refused(search: Search, answers: tuple[Answer, ...]) -> None:
    try:
        search.tell(answers)
    except ValueError:
        return
    raise AssertionError("tell() takes answers that do not fit the requests; it must raise a ValueError")


def _check_rebuilding(config: SearchConfig, world: World) -> None:
    search = open_search(config)
    history: list[tuple[Answer, ...]] = []
    while len(history) < 6 and (requests := search.ask()):
        answers = tuple(world(request) for request in requests)
        search.tell(answers)
        history.append(answers)
    copy = rebuilt(config, history)
    assert (copy.samples, copy.summaries) == (search.samples, search.summaries), "answers do not rebuild it"
    assert drive(copy, world) == drive(search, world), "a rebuilt search goes on otherwise"
