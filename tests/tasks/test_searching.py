"""What Prefect's pages say of a search's work, and that its instances are known by content."""

from dataclasses import replace
from pathlib import Path

import pytest

from bife_core.benchmarks.opening import open_benchmark
from bife_core.config import InstancesConfig, RunnerConfig
from bife_core.fidelity.high import HighScore
from bife_core.fidelity.load_correction import Reference
from bife_core.fidelity.low import LowScore
from bife_core.generators import Draft
from tasks import evolution as searching
from tasks.collection import benchmark, prepare_instances
from tasks.workers import close_workers, worker_pool

TINY = InstancesConfig(size="tiny")


def draft(**written):
    return Draft(key="g00-c00", generator="offline", model="grammar", **written)


@pytest.mark.parametrize(
    ("result", "message", "name"),
    [
        (draft(source="x", thought="Slack."), "Slack.", None),
        (draft(source="x"), "A rule was written.", None),
        (draft(text="Look at duals."), "Look at duals.", None),
        (draft(failure="No code."), "No code.", "Rejected"),
        (LowScore(f_lf=0.25), "F_LF 0.2500", None),
        (LowScore(failure="Loops."), "Loops.", "Rejected"),
        (HighScore(f_hf=-2.5, cpu_s=5.0), "F_HF -2.5; 0 solves, 5.0 CPU seconds", None),
        (Reference(results=(None,)), "0 of 1 solved, 0.0 CPU seconds", None),
    ],
)
def test_the_page_of_a_task_says_what_came_of_it(result, message, name):
    assert searching.message_of(result) == (message, name)
    assert searching.perform.fn(lambda given: given, [result]) == result


def test_a_set_of_instances_is_known_by_its_content():
    design = prepare_instances.fn(TINY, "design", 1)
    elsewhere = tuple(replace(instance, path=Path("/elsewhere")) for instance in design.instances)
    moved = design.model_copy(update={"instances": elsewhere})
    assert moved.content == design.content
    more = prepare_instances.fn(TINY, "design", 2)
    assert more.content != design.content


def test_a_benchmark_is_opened_once(tmp_path):
    assert benchmark(TINY) is benchmark(TINY)
    assert benchmark(TINY).name == open_benchmark(TINY, tmp_path).name


def test_all_tasks_share_one_pool_and_a_closed_one_is_replaced():
    pool = worker_pool(RunnerConfig(workers=1))
    assert worker_pool(RunnerConfig(workers=1)) is pool
    close_workers()
    replaced = worker_pool(RunnerConfig(workers=1))
    assert replaced is not pool
    assert replaced.submit("bife_core.sandbox.selftest:echo", {"value": 1}, limit_s=60).result() == 1
