"""Tasks of a search and of an evaluation: what their pages say, what is tried again, and the files they leave."""

from dataclasses import replace
from pathlib import Path

import pytest
from prefect.client.schemas.objects import State, StateType

from bife_core.config import InstancesConfig, RunnerConfig
from bife_core.errors import ConfigError
from bife_core.sandbox import WorkerFailure
from bife_core.study import files
from tasks.collection import benchmark, prepare_instances
from tasks.evaluation_files import (
    search_behind,
)
from tasks.states import is_infrastructure
from tasks.workers import close_workers, worker_pool
from tests.support.journals import BEST, add_sample, write_files

TINY = InstancesConfig(size="tiny")


def test_a_set_of_instances_is_known_by_its_content():
    design = prepare_instances.fn(TINY, "design", 1)
    elsewhere = tuple(replace(instance, path=Path("/elsewhere")) for instance in design.instances)
    moved = design.model_copy(update={"instances": elsewhere})
    assert moved.content == design.content
    assert prepare_instances.fn(TINY, "design", 2).content != design.content
    assert benchmark(TINY).opened is benchmark(TINY).opened, "it is opened once"


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


def test_the_search_behind_a_rule_is_read_from_its_folder_and_its_events(journal, folder):
    write_files(folder, [add_sample(journal)])
    found = search_behind(str(folder / "best_rule.py"))
    assert (found.name, found.best, found.origin) == ("bife", BEST.id, "offline from the library")
    for name, content in ((files.COST, '{"search": "bi'), (files.SAMPLES, '[{"id": 7}]')):
        (folder / name).write_text(content)
        assert search_behind(str(folder / "best_rule.py")) is None
    assert search_behind("paper_ca") is None
