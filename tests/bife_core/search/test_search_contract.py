"""What every registered search is held to, with answers that tie, repeat and fail."""

from __future__ import annotations

from typing import Any

import pytest

from bife_core.config import Llm4BranchConfig, ReevoConfig, SearchConfig
from bife_core.search import (
    SEARCHES,
    Request,
    SampleRequest,
    Search,
    SolveRequest,
    TrialRequest,
    open_search,
    sample_seed,
)
from tests.support.searching import World, drive, rebuilt

WORLDS = [
    World(seed=1),
    World(seed=2, failing=0.3, repeating=0.3),
    World(seed=3, failing=0.8),
    World(seed=4, failing=1.0),
]
EVERY = pytest.mark.parametrize("method", sorted(SEARCHES))
IN_EVERY = pytest.mark.parametrize("world", WORLDS, ids=lambda world: f"failing {world.failing}")


def config(method: str, **fields: Any) -> SearchConfig:
    tuning = Llm4BranchConfig(
        training_instances=2, tuning_calls=3, tuning_initial=2, tuning_instances=1, islands=3,
        migration_interval=2,
    )  # fmt: skip
    known = {"samples": 20, "initial": 5, "population": 4, "llm4branch": tuning} | fields
    return SearchConfig(method=method, **known)


def written(requests: tuple[Request, ...]) -> list[SampleRequest]:
    """Return the rules that a generator is asked for."""
    return [r for r in requests if isinstance(r, SampleRequest) and r.source is None]


@EVERY
@IN_EVERY
def test_it_asks_for_no_more_than_its_budget_and_ends(method: str, world: World) -> None:
    search = open_search(config(method))
    assert isinstance(search, Search)
    asked = drive(search, world)
    samples = [request for requests in asked for request in written(requests)]
    assert len(samples) == 20
    assert search.ask() == ()
    assert len(search.samples) - len(samples) in (0, 1), "at most the rule a search begins with"
    assert sum(summary.samples for summary in search.summaries) == len(search.samples)


@EVERY
@IN_EVERY
def test_every_request_can_be_answered_alone(method: str, world: World) -> None:
    search = open_search(config(method))
    seen: set[tuple[str, str]] = set()
    known: set[str] = set()
    while requests := search.ask():
        assert search.ask() == requests
        for request in requests:
            assert (request.kind, request.id) not in seen
            seen.add((request.kind, request.id))
            if isinstance(request, SampleRequest):
                assert request.seed == sample_seed(0, request.id)
                assert request.scored == search.low_fidelity
                assert {parent.id for parent in request.parents} <= known | {"g00-c00"}
                assert all(parent.valid for parent in request.parents)
            elif isinstance(request, SolveRequest):
                assert request.sample.valid
            elif isinstance(request, TrialRequest):
                assert set(request.instances) <= set(range(search.training_instances))
        search.tell(tuple(world(request) for request in requests))
        known |= {sample.id for sample in search.samples}


@EVERY
def test_answers_that_do_not_fit_change_nothing(method: str) -> None:
    world = World(seed=6, failing=0.2)
    search, untouched = open_search(config(method)), open_search(config(method))
    for _ in range(4):
        requests = search.ask()
        answers = tuple(world(request) for request in requests)
        for wrong in ((), answers[1:], (*answers, answers[0])):
            with pytest.raises(ValueError, match="Expected"):
                search.tell(wrong)
        assert search.ask() == untouched.ask() == requests
        search.tell(answers)
        untouched.tell(answers)
        assert search.samples == untouched.samples


@EVERY
@IN_EVERY
def test_it_is_rebuilt_from_what_it_was_told(method: str, world: World) -> None:
    settings = config(method)
    search, told = open_search(settings), []
    for _ in range(6):
        if not (requests := search.ask()):
            break
        answers = tuple(world(request) for request in requests)
        search.tell(answers)
        told.append(answers)
    copy = rebuilt(settings, told)
    assert copy.samples == search.samples
    assert copy.summaries == search.summaries
    assert drive(copy, world) == drive(search, world)
    assert (copy.samples, copy.best) == (search.samples, search.best)


@EVERY
def test_the_best_rule_is_best_by_the_fidelity_the_search_goes_by(method: str) -> None:
    search = open_search(config(method))
    asked = drive(search, World(seed=7, failing=0.2, distinct=50))
    solves = [r for requests in asked for r in requests if isinstance(r, SolveRequest)]
    goes_by = "f_hf" if solves else "f_lf"
    known = [getattr(rule, goes_by) for rule in search.samples if rule.valid]
    assert search.best is not None
    assert getattr(search.best, goes_by) == max(value for value in known if value is not None)


@EVERY
def test_another_seed_gives_other_draws(method: str) -> None:
    one, other = (drive(open_search(config(method, seed=seed)), World(seed=8)) for seed in (0, 1))
    assert one != other


@EVERY
def test_its_settings_in_use_leave_out_those_of_others(method: str) -> None:
    used = config(method).in_use()
    assert used["method"] == method
    assert {"reevo", "llm4branch"} & set(used) == {method} & {"reevo", "llm4branch"}


def test_reflections_may_use_up_budget() -> None:
    settings = config("reevo", reevo=ReevoConfig(count_reflections=True))
    search = open_search(settings)
    asked = [request for requests in drive(search, World(seed=9, distinct=40)) for request in requests]
    reflections = sum(request.kind == "reflection" for request in asked)
    samples = len(written(tuple(asked)))
    assert reflections > 0
    assert samples + reflections in (20, 21), "a lesson at the very end may be one too many"
