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
from bife_core.search import Sample, SampleRequest, SolveRequest
from tasks import evolution as searching
from tasks.instances import benchmark, prepare_instances
from tasks.workers import close_workers, worker_pool

TINY = InstancesConfig(size="tiny")
REQUEST = SampleRequest(id="g00-c00", generation=0, operator="i1", seed=0)
SAMPLE = Sample(id="g00-c00", generation=0, operator="i1", source="")


@pytest.fixture
def said(monkeypatch):
    """Return what a task's page says of a piece of work, and its result."""
    monkeypatch.setattr(searching, "told", lambda data, message, name=None: (message, name, data))
    return lambda task, *given: task.fn(*given)


def draft(**written):
    return Draft(key="g00-c00", generator="offline", model="grammar", **written)


@pytest.mark.parametrize(
    ("written", "message", "name"),
    [
        (draft(source="x", thought="Slack."), "Slack.", None),
        (draft(source="x"), "A rule was written.", None),
        (draft(text="Look at duals."), "Look at duals.", None),
        (draft(failure="No code."), "No code.", "Rejected"),
    ],
)
def test_a_draft_is_told_in_its_own_words(said, written, message, name):
    assert said(searching.propose, lambda request: written, REQUEST) == (message, name, written)


def test_scores_are_told_with_their_numbers_or_reasons(said):
    low = said(searching.score_low, lambda request, written: LowScore(f_lf=0.25), REQUEST, draft(source="x"))
    assert low[:2] == ("F_LF 0.2500", None)
    bad = said(searching.score_low, lambda request, written: LowScore(failure="Loops."), REQUEST, draft())
    assert bad[:2] == ("Loops.", "Rejected")
    request = SolveRequest(id="g00-c00", sample=SAMPLE)
    reference = Reference(results=(None,))
    scored = HighScore(f_hf=-2.5, cpu_s=5.0)
    high = said(searching.score_high, lambda request, reference: scored, request, reference)
    assert high[:2] == ("F_HF -2.5: 0 solves, 5.0 CPU seconds", None)
    assert said(searching.measure_reference, lambda: reference)[0] == "0 of 1 solved, 0.0 CPU seconds"


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
