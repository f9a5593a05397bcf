import pytest

from bife_core.benchmarks import open_benchmark
from bife_core.collection import CollectionSummary
from bife_core.config import (
    CollectionConfig,
    HighFidelityConfig,
    InstancesConfig,
    LowFidelityConfig,
    RunnerConfig,
)
from bife_core.generators import Generation
from tasks.collection import benchmark, collect, prepare_instances
from tasks.records import InstanceSet
from tasks.scoring import score_high, score_low
from tasks.workers import close_workers, worker_pool

TINY = InstancesConfig(size="tiny")
ONE = RunnerConfig(workers=1)
SOURCE = "def candidate_variable_score(variable_features) -> float:\n    return variable_features[24]\n"
NEVER = """def candidate_variable_score(variable_features) -> float:
    total = 0.0
    while total < 1.0:
        total = total * 0.5
    return total
"""


@pytest.fixture(scope="module")
def decisions():
    config = CollectionConfig(decisions=5, time_limit_s=20)
    return CollectionSummary.model_validate(collect.fn(TINY, config, ONE))


@pytest.fixture(scope="module")
def design():
    return InstanceSet.model_validate(prepare_instances.fn(TINY, "design", 1))


def low(decisions, generation, limit_s=30.0):
    config = LowFidelityConfig(time_limit_s=limit_s)
    return score_low.fn(
        "g00-c00", generation.model_dump(mode="json"), decisions.path, decisions.digest, config, ONE
    )


def written(source, failure=None):
    return Generation(key="g00-c00", generator="offline", model="grammar", source=source, failure=failure)


def test_a_rule_has_a_share_of_right_decisions(decisions):
    score = low(decisions, written(SOURCE))
    assert 0 <= score["f_lf"] <= 1
    assert score["failure"] is None


def test_a_broken_rule_is_a_result(decisions):
    score = low(decisions, written("def candidate_variable_score(:"))
    assert score["f_lf"] is None
    assert score["failure"]


def test_no_rule_is_passed_through_with_its_reason(decisions):
    assert (
        low(decisions, written(None, "The answer holds no code."))["failure"] == "The answer holds no code."
    )


def test_a_rule_that_never_ends_is_stopped(decisions):
    score = low(decisions, written(NEVER), limit_s=3.0)
    assert score["f_lf"] is None
    assert "3" in score["failure"]


def test_solves_give_minus_the_mean_cost(design):
    config = HighFidelityConfig(instances=1, cost="nodes", time_limit_s=20)
    score = score_high.fn("g00-c00", SOURCE, design, config, "key", ONE)
    assert score["failure"] is None
    assert score["f_hf"] == -score["results"][0]["nodes"]


def test_a_set_of_instances_is_known_by_its_content(design):
    moved = design.model_copy(
        update={"instances": tuple(i.model_copy(update={"path": "/elsewhere"}) for i in design.instances)}
    )
    assert moved.content == design.content
    more = InstanceSet.model_validate(prepare_instances.fn(TINY, "design", 2))
    assert more.content != design.content


def test_a_benchmark_is_opened_once(tmp_path):
    assert benchmark(TINY) is benchmark(TINY)
    assert benchmark(TINY).name == open_benchmark(TINY, tmp_path).name


def test_all_tasks_share_one_pool_and_a_closed_one_is_replaced():
    pool = worker_pool(ONE)
    assert worker_pool(ONE) is pool
    close_workers()
    replaced = worker_pool(ONE)
    assert replaced is not pool
    assert replaced.submit("bife_core.sandbox.selftest:echo", {"value": 1}, limit_s=60).result() == 1
