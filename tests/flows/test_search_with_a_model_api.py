"""A search as a flow by a model API that misbehaves; its stages are tested in tests/bife_core/run/stages."""

from decimal import Decimal

import pytest
from mlflow import MlflowClient

from bife_core.run.presets import with_overrides
from bife_core.run.stages.records import SEARCH
from bife_core.search.generators import DraftingStoppedError
from bife_flows import stages
from bife_flows.operate.running import ready
from bife_tasks.tracking.mlflow_runs import experiment_id
from tests.support.model_api import ModelApi

KEY = "sk-secret-of-the-tests"
SMALL = {"generator.kind": "openai", "high.instances": 1}


@pytest.fixture
def search(smoke, monkeypatch):
    """Return a function that runs a search of its own."""

    def go(api, seed, **settings):
        api.configure(monkeypatch, api_key=KEY, timeout_s=2, price_in=1.0, price_out=2.0)
        config = with_overrides(smoke.config, SMALL | {"search.seed": seed} | settings)
        return ready()(stages.search)(config, smoke.result.collection.summary)

    return go


def traces(run_id):
    return MlflowClient().search_traces(locations=[experiment_id(SEARCH)], run_id=run_id, max_results=100)


def found(filter_string):
    return MlflowClient().search_runs([experiment_id(SEARCH)], filter_string)


def test_good_malformed_slow_and_failing_replies_end_in_a_rule(search):
    script = ["good", "hang", "broken_code", "server_error", "good", "no_code", "not_json", "reset"]
    paper = {"generator.prompts": "paper"}
    with ModelApi(script, key=KEY) as api:
        result = search(api, 1, **paper)
        asked, spent = len(api.requests), result.spending
        assert asked == 8 + 2, "the client repeats what may pass, in the same call"
        assert result.best is not None
        assert len(traces(result.run.run_id)) == spent.calls == len(result.samples) == 8
        children = found(f"tags.`mlflow.parentRunId` = '{result.run.run_id}'")
        assert len({child.data.tags["sample_id"] for child in children}) == len(children) == 8
        assert sum(child.data.tags["kind"] == "call" for child in children) == result.failures == 4

        good = [request for request in api.requests if request.scene in ("good", "broken_code", "no_code")]
        assert (spent.unknown, spent.estimated) == (1, 1)
        assert spent.completion_tokens == 200 * len(good)
        assert spent.prompt_tokens > 1000 * len(good), "the prompt of the one that hung is guessed"
        assert spent.cost_usd == (spent.prompt_tokens + 2 * spent.completion_tokens) / Decimal(1_000_000)

        again = search(api, 1, **paper)
        assert (len(api.requests), again.best, again.spending) == (asked, result.best, spent)
        assert len(traces(result.run.run_id)) == spent.calls


def test_a_refused_key_stops_at_once_and_no_key_is_written_anywhere(search, home):
    with ModelApi(["bad_key"] * 4, key=KEY) as api:
        with pytest.raises(DraftingStoppedError, match="refused the key"):
            search(api, 4)
        asked = len(api.requests)
        assert asked <= 4
    (parent,) = found("params.`generator.kind` = 'openai' and params.`search.seed` = '4'")
    assert parent.info.status == "FAILED"
    assert "refused the key" in parent.data.tags["stopped"]
    assert len(traces(parent.info.run_id)) == asked
    with ModelApi(["key_in_answer", "key_in_error"], key=KEY) as api:
        search(api, 4)
        assert {request.headers["authorization"] for request in api.requests} == {f"Bearer {KEY}"}
    files = [path for path in home.rglob("*") if path.is_file()]
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
