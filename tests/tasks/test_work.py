"""Tasks of a search and of an evaluation: what their pages say, what is tried again, and the files they leave."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from prefect.client.schemas.objects import State, StateType

from bife_core.config import InstancesConfig, RunnerConfig
from bife_core.errors import ConfigError
from bife_core.evaluation.choosing import Choice
from bife_core.evaluation.summary import EvaluationSummary
from bife_core.sandbox import WorkerFailure
from bife_core.store import Store
from bife_core.study import files
from tasks.collection import benchmark, prepare_instances
from tasks.evaluation_files import (
    RECORD,
    VALIDATION,
    as_first_measured,
    read_validation,
    search_behind,
    write_validation,
)
from tasks.states import is_infrastructure
from tasks.workers import close_workers, worker_pool
from tests.support.journals import BEST, add_sample, opened, write_files

TINY = InstancesConfig(size="tiny")


def test_a_set_of_instances_is_known_by_its_content():
    design = prepare_instances.fn(TINY, "design", 1)
    elsewhere = tuple(replace(instance, path=Path("/elsewhere")) for instance in design.instances)
    moved = design.model_copy(update={"instances": elsewhere})
    assert moved.content == design.content
    assert prepare_instances.fn(TINY, "design", 2).content != design.content
    assert benchmark(TINY) is benchmark(TINY), "it is opened once"


def test_all_tasks_share_one_pool_and_a_closed_one_is_replaced():
    pool = worker_pool(RunnerConfig(workers=1))
    assert worker_pool(RunnerConfig(workers=1)) is pool
    close_workers()
    replaced = worker_pool(RunnerConfig(workers=1))
    assert replaced is not pool
    assert replaced.submit("bife_core.sandbox.selftest:echo", {"value": 1}, limit_s=60).result() == 1


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ConnectionResetError(), True),
        (OSError("disk full"), True),
        (WorkerFailure("died", "gone"), True),
        (WorkerFailure("error", "disk full", "", "OSError", by_machine=True), True),
        (WorkerFailure("error", "refused", "", "RuleError"), False),
        (WorkerFailure("timeout", "slow"), False),
        (ConfigError("no such benchmark"), False),
        (ValueError(), False),
    ],
)
def test_only_disk_network_and_lost_workers_are_tried_again(error, again):
    assert is_infrastructure(None, None, State(type=StateType.FAILED, data=error)) is again


def test_a_choice_is_found_again_by_the_rule_that_was_chosen_and_by_no_other(tmp_path):
    row = {"rule": "g01-c00", "instance": "a", "seed": 0, "status": "optimal", "cpu_s": 1.0, "nodes": 3}
    choice = Choice(chosen="g01-c00", scores={"g01-c00": -1.0, "g00-c01": None}, instances=1, solves=(row,))
    assert read_validation(str(tmp_path / "g01-c00.py")) is None
    write_validation(tmp_path, choice)
    assert read_validation(str(tmp_path / "g01-c00.py")) == choice
    assert read_validation(str(tmp_path / "g00-c01.py")) is None
    assert read_validation("models:/bife-x@champion") is None


def test_a_damaged_record_of_an_evaluation_is_in_nobodys_way(tmp_path):
    summary = EvaluationSummary.model_construct(rows=())
    (tmp_path / RECORD).write_text('{"measured_at": "2026-')
    assert as_first_measured(tmp_path, summary) is summary


@pytest.mark.parametrize("content", ["", '{"chosen": "mi', "[]", '{"of": "somebody else"}'])
def test_a_choice_that_is_damaged_or_of_somebody_else_is_none(tmp_path, content):
    (tmp_path / VALIDATION).write_text(content)
    assert read_validation(str(tmp_path / "mine.py")) is None


@pytest.mark.parametrize(
    "content", ['{"samples": [1]}', "[1, 2]", '[{"id": "a"}]', '[{"id": "g0', "[]", "\x00"]
)
def test_samples_of_somebody_else_beside_a_rule_are_no_search(tmp_path, content):
    (tmp_path / files.SAMPLES).write_text(content)
    assert search_behind(str(tmp_path / "mine.py")) is None


def test_a_search_with_a_damaged_cost_is_told_of_without_it(tmp_path):
    files.write_samples(tmp_path, [BEST])
    (tmp_path / files.COST).write_text('{"search": "bi')
    found = search_behind(str(tmp_path / f"{BEST.id}.py"))
    assert (found.best, found.samples, found.cost) == (BEST.id, (BEST,), None)
    (tmp_path / files.SAMPLES).write_text(json.dumps([{"id": 7}]))
    assert search_behind(str(tmp_path / f"{BEST.id}.py")) is None


def test_where_a_searchs_rules_came_from_is_known_from_its_journal(tmp_path):
    journal = opened("a", tmp_path, store=Store(tmp_path), origin="offline from the library")
    write_files(tmp_path, [add_sample(journal)])
    record = search_behind(str(tmp_path / "best_rule.py"))
    assert record is not None
    assert record.origin == "offline from the library"
    for left in tmp_path.glob("bife.db*"):
        left.unlink()
    (tmp_path / "bife.db").write_text("no database, " * 99)
    damaged = search_behind(str(tmp_path / "best_rule.py"))
    assert damaged is not None
    assert damaged.origin == ""
