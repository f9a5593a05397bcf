"""Calls on processes that get everything as a cluster's would; Dask and Ray are checked by `make scale`."""

from __future__ import annotations

import os
import signal
import sys

import psutil
import pytest
from pydantic import ValidationError

from bife_core.config import HighFidelityConfig, RunnerConfig
from bife_core.errors import ConfigError
from bife_core.fidelity.high import score_high
from bife_core.sandbox import WorkerFailure, submit_repeated
from bife_core.solves import SolveStore
from tasks.engines import ENGINES, EnginePool, open_engine
from tasks.engines.processes import ProcessEngine
from tasks.workers import worker_pool
from tests.support.misbehaving import RUN, fail, text_of

SOURCE = "def candidate_variable_score(variable_features) -> float:\n    return variable_features[24]\n"
SELFTEST = "bife_core.sandbox.selftest:{}"


@pytest.fixture(scope="module")
def engines():
    pool = EnginePool(ProcessEngine(None, 2))
    yield pool
    pool.close()


def test_a_call_comes_back_as_from_the_pool_of_this_machine(engines):
    assert engines.workers == 2
    given = [{"value": {"a": [1, 2.5, None]}}, {"value": "b"}]
    futures = engines.submit_in_turn(SELFTEST.format("echo"), given, limit_s=60)
    assert [future.result(120) for future in futures] == [each["value"] for each in given]


def test_a_failure_keeps_its_kind_and_reason(engines):
    raised = engines.submit(RUN, text_of(fail, message="no such row"), limit_s=60).exception(120)
    assert isinstance(raised, WorkerFailure)
    assert (raised.kind, raised.error_type) == ("error", "ValueError")
    assert "no such row" in raised.reason
    slow = engines.submit(SELFTEST.format("pause"), {"seconds": 30}, limit_s=0.5).exception(120)
    assert isinstance(slow, WorkerFailure)
    assert slow.kind == "timeout"


def test_a_killed_process_costs_a_repetition_and_no_result(engines):
    engines.submit(SELFTEST.format("echo"), {"value": 1}, limit_s=60).result(120)
    notes: list[str] = []
    future = submit_repeated(engines, SELFTEST.format("pause"), {"seconds": 2}, limit_s=60, note=notes.append)
    spawned = [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]
    os.kill(spawned[0].pid, signal.SIGKILL)
    assert future.result(120) == 2
    assert "was lost" in notes[0]


def test_the_same_solves_wherever_they_run(engines, tiny_auctions, tmp_path, pool):
    config = HighFidelityConfig(instances=1, cost="nodes", time_limit_s=20)
    scores = [
        score_high(SOURCE, "rule", tiny_auctions[:1], config, workers, SolveStore(tmp_path / name))
        for name, workers in (("here", pool), ("there", engines))
    ]
    assert scores[0].f_hf == scores[1].f_hf
    assert [solve.nodes for solve in scores[0].results] == [solve.nodes for solve in scores[1].results]
    assert SolveStore(tmp_path / "there").directory.is_dir()


def test_a_closed_pool_says_so():
    pool = EnginePool(ProcessEngine(None, 1))
    pool.close()
    with pytest.raises(WorkerFailure, match="is closed") as closed:
        pool.submit(SELFTEST.format("echo"), {"value": 1}, limit_s=60)
    assert closed.value.kind == "closed"


@pytest.mark.parametrize(("kind", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_package_is_one_sentence(kind, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=f"pip install 'bife\\[{kind}\\]'"):
        open_engine(RunnerConfig(kind=kind, workers=1))


def test_only_clusters_have_addresses():
    with pytest.raises(ValidationError, match="an address goes with"):
        RunnerConfig(kind="process", address="tcp://head:8786")
    assert set(ENGINES) == {"process", "dask", "ray"}


def test_the_runner_chooses_the_pool():
    assert isinstance(worker_pool(RunnerConfig(kind="process", workers=1)), EnginePool)
    assert worker_pool() is worker_pool(RunnerConfig())


def test_what_is_under_way_ends_with_its_pool():
    pool = EnginePool(ProcessEngine(None, 1))
    before = set(psutil.Process().children())
    pool.submit(SELFTEST.format("echo"), {"value": 1}, limit_s=60).result(120)
    own = [
        child for child in set(psutil.Process().children()) - before if "spawn" in " ".join(child.cmdline())
    ]
    pool.submit(SELFTEST.format("pause"), {"seconds": 600}, limit_s=700)
    pool.close()
    assert psutil.wait_procs(own, timeout=30)[1] == []
