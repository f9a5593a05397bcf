"""What ends a search: a budget, which can be raised, a model API that does not answer, and no rule at all."""

import gzip
import json
import re
from decimal import Decimal

import pytest

from bife_core.base.errors import ConfigError
from bife_core.instances.generated import open_benchmark
from bife_core.run.config import InstancesConfig
from bife_core.run.presets import preset, with_overrides
from bife_core.run.stages.search import NEARLY_USED, NO_RULE, search
from bife_core.search.generators import DraftingStoppedError
from tests.support.model_api import ModelApi


def test_a_limit_on_calls_in_the_midst_of_a_generation(searched, runtime):
    with ModelApi() as api:
        first = searched(21, api, budget__calls=6)
        assert runtime.conductor.announced == [(NEARLY_USED, {"reason": first.ended_by})]
        assert len(api.requests) == first.spending.calls == 6
        assert first.best is not None
        assert first.best_rule.is_file()
        assert "budget.calls is used up: 6 of 6" in first.ended_by
        assert any(first.ended_by in note for note in first.notes)

        again = searched(21, api, budget__calls=6)
        assert (again.best, len(api.requests)) == (first.best, 6)

        whole = searched(21, api)
        assert len(api.requests) == len(whole.samples) == 8
        assert (whole.ended_by, whole.failures) == (None, 0)
        assert whole.spending.cost_usd == 8 * Decimal("0.0014")

        # A search that is complete needs nothing more, so no limit is in its way.
        assert searched(21, api, budget__calls=1, budget__hours=1e-9).ended_by is None


def test_fewer_calls_than_the_initial_population_still_give_a_rule(searched):
    with ModelApi() as api:
        result = searched(22, api, budget__usd=0.0028)
    assert result.best is not None
    assert "usd is used up" in result.ended_by
    assert 2 <= len(api.requests) == len(result.samples) <= 4


@pytest.mark.parametrize(
    ("method", "limit"), [("bife", "hours"), ("symbolic", "hours"), ("bife", "solver_s")]
)
def test_no_time_left_ends_the_search_before_it_begins(searched, runtime, method, limit):
    result = searched(25, search__algorithm=method, **{f"budget__{limit}": 1e-9})
    assert (len(result.samples), result.best) == (0, None)
    assert f"{limit} is used up" in result.ended_by
    assert runtime.conductor.announced == [(NEARLY_USED, {"reason": result.ended_by})]


def test_a_limit_that_is_nearly_used_is_announced_once(searched, runtime):
    with ModelApi() as api:
        assert searched(29, api, budget__calls=9).ended_by is None
    assert runtime.conductor.announced == [(NEARLY_USED, {"reason": "89 % of the limit on calls is used."})]


def test_a_limit_on_solver_seconds_ends_a_search_between_generations(searched, collected):
    spent = collected.cpu_s + 0.001
    first = searched(28, budget__solver_s=spent)
    assert "CPU seconds went into solves" in first.ended_by
    assert len(first.samples) == first.generations[0].samples == 4, "the generation was completed"
    assert first.cost.solver_s > spent
    assert searched(28, budget__solver_s=spent).samples == first.samples
    again = searched(28)
    assert (len(again.samples), again.samples[:4], again.ended_by) == (8, first.samples, None)


def test_money_without_prices_is_refused_before_anything_is_done(runtime, monkeypatch):
    overrides = {"generator.kind": "openai", "budget.usd": 1, "search.seed": 26}
    with ModelApi() as api:
        api.configure(monkeypatch)
        with pytest.raises(ConfigError, match="BIFE_LLM_PRICE_IN"):
            search(with_overrides(preset("smoke"), overrides), runtime)
        assert api.requests == []


@pytest.mark.parametrize(("scene", "seed"), [("overloaded", 30), ("bad_request", 33)])
def test_silence_in_the_midst_stops_the_run_where_it_can_go_on(searched, scene, seed):
    broken = ModelApi(["good"] * 4, then=scene)
    with broken as api, pytest.raises(DraftingStoppedError, match="answered none of the last 4 requests"):
        searched(seed, api)
    # A server begins its rules anew when it starts, so it first repeats four that are known.
    with ModelApi(["two_blocks"] * 4) as api:
        result = searched(seed, api)
        assert len(api.requests) == 4
    assert len(result.samples) == result.spending.answered == 8


def test_the_one_prompt_that_is_left_and_refused_ends_no_search(searched):
    with ModelApi() as api:
        searched(34, api, budget__calls=3)
    with ModelApi(["context_overflow"]) as api:
        result = searched(34, api)
    assert (len(result.samples), result.spending.answered) == (8, 7)
    assert sum("HTTP 400" in (sample.failure or "") for sample in result.samples) == 1


def test_a_model_that_writes_no_rule_ends_the_search_without_one(searched, runtime):
    with ModelApi(then="no_code") as api:
        result = searched(35, api)
    assert (result.best, result.failures) == (None, len(result.samples))
    assert runtime.conductor.announced == [(NO_RULE, {"reason": "None of 8 sampled rules was of use."})]


def test_a_model_whose_answers_have_no_text_stops_a_search_after_three_calls_and_it_can_go_on(searched):
    with ModelApi(then="empty") as api, pytest.raises(DraftingStoppedError, match="reasoning_effort=none"):
        searched(37, api)
    assert len(api.requests) == 3
    with ModelApi() as api:
        assert searched(37, api).best is not None


def test_no_name_of_a_folder_of_models_is_sent(runtime, searched, tmp_path):
    """Neither of the folder, a file, a model, a variable or a constraint, nor where they lie."""
    folder = tmp_path / "zebra-merger"
    folder.mkdir()
    names = {r"\bc(\d+)\b": r"zebra_row_\1", r"\bx(\d+)\b": r"zebra_column_\1", r"NAME .*": "NAME zebra"}
    family = open_benchmark(InstancesConfig(benchmark="set_covering", size="tiny"), tmp_path / "family")
    for number, instance in enumerate(family.instances("design", 6)):
        text = gzip.decompress(instance.path.read_bytes()).decode()
        for name, other in names.items():
            text = re.sub(name, other, text)
        (folder / f"zebra{number}.mps").write_text(text)
    with ModelApi(["broken_code", "server_error", "not_json"], then="apt") as api:
        own = InstancesConfig(benchmark="folder", folder=folder)
        result = searched(36, api, instances=own, search__samples=5)
    assert result.best is not None
    assert len(api.requests) >= len(result.samples)
    for request in api.requests:
        sent = json.dumps([request.path, request.headers, request.body])
        assert "a folder of instances, alike in structure" in sent
        assert "set covering" in sent, "the models in numbers"
        assert api.base_url not in sent
        assert not [name for name in ("zebra", str(tmp_path), str(result.folder.parent)) if name in sent]
