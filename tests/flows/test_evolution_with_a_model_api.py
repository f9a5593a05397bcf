import gzip
import json
import re
from decimal import Decimal

import pytest
from mlflow import MlflowClient

from bife_core import open_benchmark
from bife_core.config import InstancesConfig
from bife_core.generators import DraftingStoppedError
from bife_core.presets import with_overrides
from bife_core.stages.records import EVOLUTION
from bife_core.stages.searching import NO_RULE
from flows.operate.running import run
from flows.stages import evolution
from tasks.runtime import TrackedRuntime
from tasks.tracking.store import experiment_id
from tests.support.model_api import ModelApi

KEY = "sk-secret-of-the-tests"
SMALL = {"generator.kind": "openai", "high.instances": 1}


@pytest.fixture
def configured(smoke, monkeypatch):
    """Return a function that points the environment at an API and gives the configuration of a new evolution."""

    def configure(api, seed):
        api.configure(monkeypatch, api_key=KEY, timeout_s=1, price_in=1.0, price_out=2.0)
        return with_overrides(smoke.config, SMALL | {"search.seed": seed})

    return configure


def traces(run_id):
    return MlflowClient().search_traces(locations=[experiment_id(EVOLUTION)], run_id=run_id, max_results=100)


def tagged(run_id):
    found = MlflowClient().search_runs([experiment_id(EVOLUTION)], f"tags.`mlflow.parentRunId` = '{run_id}'")
    return {child.data.tags["sample_id"]: child for child in found}


def test_good_malformed_slow_and_failing_replies_end_in_a_rule(smoke, configured):
    script = ["good", "hang", "broken_code", "server_error", "good", "no_code", "not_json", "reset"]
    with ModelApi(script, key=KEY) as api:
        config = with_overrides(configured(api, 1), {"generator.prompts": "paper"})
        result = run(None, evolution, config, smoke.result.collection.summary)
        asked = len(api.requests)
        assert asked == config.search.samples + 2, "the client repeats what may pass, in the same call"

        assert result.best is not None
        assert len(result.samples) == config.search.samples
        assert len(traces(result.run.run_id)) == result.spending.calls == config.search.samples
        children = tagged(result.run.run_id)
        assert len(children) == len(result.samples)
        kinds = [child.data.tags["kind"] for child in children.values()]
        assert kinds.count("call") == result.failures == 4

        good = [request for request in api.requests if request.scene in ("good", "broken_code", "no_code")]
        spent = result.spending
        assert (spent.unknown, spent.estimated) == (1, 1)
        assert spent.completion_tokens == 200 * len(good)
        assert spent.prompt_tokens > 1000 * len(good), "the prompt of the one that hung is guessed"
        assert spent.cost_usd == (spent.prompt_tokens + 2 * spent.completion_tokens) / Decimal(1_000_000)

        again = run(None, evolution, config, smoke.result.collection.summary)
        assert len(api.requests) == asked
        assert again.best == result.best
        assert again.spending == result.spending
        assert len(traces(result.run.run_id)) == spent.calls


def test_a_refused_key_stops_at_once_and_its_calls_are_traced(smoke, configured):
    with ModelApi(then="bad_key") as api:
        config = configured(api, 2)
        with pytest.raises(DraftingStoppedError, match="refused the key"):
            run(None, evolution, config, smoke.result.collection.summary)
        asked = len(api.requests)
        assert asked <= config.search.initial
    parents = MlflowClient().search_runs(
        [experiment_id(EVOLUTION)], "params.`generator.kind` = 'openai' and params.`search.seed` = '2'"
    )
    assert [parent.info.status for parent in parents] == ["FAILED"]
    assert "refused the key" in parents[0].data.tags["stopped"]
    assert len(traces(parents[0].info.run_id)) == asked


def test_the_key_is_written_nowhere(smoke, configured, home):
    with ModelApi(["bad_key"], key=KEY) as api:
        config = configured(api, 4)
        with pytest.raises(DraftingStoppedError):
            run(None, evolution, config, smoke.result.collection.summary)
        run(None, evolution, config, smoke.result.collection.summary)
    holders = [path for path in home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert holders == []


def test_no_name_of_a_folder_of_models_is_sent(smoke, configured, tmp_path):
    """Neither of the folder, a file, a model, a variable or a constraint, nor where they lie."""
    folder = tmp_path / "zebra-merger"
    folder.mkdir()
    names = {r"\bc(\d+)\b": r"zebra_row_\1", r"\bx(\d+)\b": r"zebra_column_\1", r"NAME .*": "NAME zebra"}
    family = open_benchmark(smoke.config.instances, tmp_path / "family")
    for number, instance in enumerate(family.instances("design", 6)):
        text = gzip.decompress(instance.path.read_bytes()).decode()
        for name, other in names.items():
            text = re.sub(name, other, text)
        (folder / f"zebra{number}.mps").write_text(text)
    with ModelApi(["broken_code", "server_error", "not_json"], then="apt") as api:
        own = InstancesConfig(benchmark="folder", folder=folder)
        config = configured(api, 6).model_copy(update={"instances": own})
        result = run(None, evolution, config)
    assert result.best is not None
    assert len(api.requests) > config.search.samples
    for request in api.requests:
        sent = json.dumps([request.path, request.headers, request.body])
        assert "a folder of instances, alike in structure" in sent
        assert "set packing" in sent, "the models in numbers"
        assert api.base_url not in sent
        assert not [name for name in ("zebra", str(tmp_path), str(result.folder.parent)) if name in sent]


def test_a_model_that_writes_no_rule_ends_the_search_without_one(smoke, configured, monkeypatch):
    announced = []
    monkeypatch.setattr(
        TrackedRuntime, "announce", lambda _, event, __, payload: announced.append((event, payload))
    )
    with ModelApi(then="no_code") as api:
        config = configured(api, 5)
        result = run(None, evolution, config, smoke.result.collection.summary)
    assert result.best is None
    assert announced == [(NO_RULE, {"reason": f"None of {len(result.samples)} sampled rules was of use."})]
    assert result.failures == len(result.samples) == config.search.samples
    parent = MlflowClient().get_run(result.run.run_id)
    assert parent.info.status == "FINISHED"
    assert parent.data.tags["best_sample"] == "none"
    assert {child.data.tags["kind"] for child in tagged(result.run.run_id).values()} == {"call"}
