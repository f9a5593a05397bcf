"""A budget ends a search cleanly with the best rule so far; raised, the search goes on where it stopped."""

from decimal import Decimal

import pytest
from mlflow import MlflowClient

from bife_core.errors import ConfigError
from bife_core.generators import DraftingStoppedError
from bife_core.presets import with_overrides
from bife_core.stages.searching import EVOLUTION_ENDED, NEARLY_USED
from bife_core.study.journal import claim_on
from flows.operate.running import run
from flows.stages import evolution
from tasks.runtime import TrackedRuntime
from tasks.stores import home_store
from tests.support.model_api import ModelApi


@pytest.fixture
def search(smoke, monkeypatch):
    """Return a function that runs an evolution of its own, by a model API if there is one."""

    def go(seed, api=None, method="bife", **limits):
        if api is not None:
            api.configure(monkeypatch, timeout_s=2, tries=1, price_in=1.0, price_out=2.0)
        overrides = {f"budget.{name}": value for name, value in limits.items()}
        overrides |= {"search.seed": seed, "search.method": method, "high.instances": 1, "high.race": False}
        if api is not None:
            overrides["generator.kind"] = "openai"
        return run(None, evolution, with_overrides(smoke.config, overrides), smoke.result.collection.summary)

    return go


def status(result):
    return MlflowClient().get_run(result.run.run_id).info.status


@pytest.fixture
def announced(monkeypatch):
    """The events of searches but their ends, as (event, payload)."""
    heard = []

    def hear(_, event, subject, payload):
        if event != EVOLUTION_ENDED:
            name = claim_on(subject.removeprefix("evolution."))
            assert not home_store().claims.take([name]), "a library study of the same key waits"
            heard.append((event, payload))

    monkeypatch.setattr(TrackedRuntime, "announce", hear)
    return heard


def test_a_limit_on_calls_in_the_midst_of_a_generation(search, announced):
    with ModelApi() as api:
        first = search(21, api, calls=6)
        assert announced == [(NEARLY_USED, {"reason": first.ended_by})]
        assert len(api.requests) == first.spending.calls == 6
        assert first.best is not None
        assert first.best_rule.is_file()
        assert "budget.calls is used up: 6 of 6" in first.ended_by
        assert any(first.ended_by in note for note in first.notes)
        assert status(first) == "FINISHED"

        again = search(21, api, calls=6)
        assert (again.best, len(api.requests)) == (first.best, 6)

        whole = search(21, api)
        assert len(api.requests) == len(whole.samples) == 8
        assert (whole.ended_by, whole.failures, status(whole)) == (None, 0, "FINISHED")
        assert whole.spending.cost_usd == 8 * Decimal("0.0014")

        # A search that is complete needs nothing more, so no limit is in its way.
        assert search(21, api, calls=1, hours=1e-9).ended_by is None


def test_fewer_calls_than_the_initial_population_still_give_a_rule(search):
    with ModelApi() as api:
        result = search(22, api, usd=0.0028)
    assert result.best is not None
    assert "usd is used up" in result.ended_by
    assert 2 <= len(api.requests) == len(result.samples) <= 4


@pytest.mark.parametrize(
    ("method", "limit"), [("bife", "hours"), ("symbolic", "hours"), ("bife", "solver_s")]
)
def test_no_time_left_ends_the_search_before_it_begins(search, announced, method, limit):
    result = search(25, method=method, **{limit: 1e-9})
    assert (len(result.samples), result.best) == (0, None)
    assert f"{limit} is used up" in result.ended_by
    assert announced == [(NEARLY_USED, {"reason": result.ended_by})]


def test_a_limit_that_is_nearly_used_is_announced_once(search, announced):
    with ModelApi() as api:
        assert search(29, api, calls=9).ended_by is None
    assert announced == [(NEARLY_USED, {"reason": "89 % of the limit on calls is used."})]


def test_a_limit_on_solver_seconds_ends_a_search_between_generations(search):
    whole = search(27)
    spent = whole.cost.collection_s + whole.cost.f_hf_s / 10
    first = search(28, solver_s=spent)
    assert "CPU seconds went into solves" in first.ended_by
    assert len(first.samples) == first.generations[0].samples == 4, "the generation was completed"
    assert first.cost.solver_s > spent
    assert search(28, solver_s=spent).samples == first.samples
    again = search(28)
    assert (len(again.samples), again.samples[:4], again.ended_by) == (8, first.samples, None)


def test_money_without_prices_is_refused_before_anything_is_done(smoke, monkeypatch):
    overrides = {"generator.kind": "openai", "budget.usd": 1, "search.seed": 26}
    with ModelApi() as api:
        api.configure(monkeypatch)
        with pytest.raises(ConfigError, match="needs the prices"):
            run(None, evolution, with_overrides(smoke.config, overrides))
        assert api.requests == []


@pytest.mark.parametrize("scene", ["overloaded", "bad_request"])
def test_silence_in_the_midst_stops_the_run_where_it_can_go_on(search, scene):
    seed = {"overloaded": 30, "bad_request": 33}[scene]
    broken = ModelApi(["good"] * 4, then=scene)
    with broken as api, pytest.raises(DraftingStoppedError, match="answered none of the last 4 requests"):
        search(seed, api)
    # A server begins its rules anew when it starts, so it first repeats four that are known.
    with ModelApi(["two_blocks"] * 4) as api:
        result = search(seed, api)
        assert len(api.requests) == 4
    assert len(result.samples) == result.spending.answered == 8


def test_the_one_prompt_that_is_left_and_refused_ends_no_search(search):
    with ModelApi() as api:
        search(34, api, calls=3)
    with ModelApi(["context_overflow"]) as api:
        result = search(34, api)
    assert (len(result.samples), result.spending.answered) == (8, 7)
    assert sum("HTTP 400" in (sample.failure or "") for sample in result.samples) == 1
