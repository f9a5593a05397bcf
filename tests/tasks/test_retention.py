"""What may go of a home that is old, and that no evidence does."""

import time
import uuid

import pytest

from bife_core.benchmarks.config import InstancesConfig
from tasks.collection import samples_name
from tasks.retention import Retention
from tasks.stores import home_store
from tasks.tracking import provenance, store
from tests.support import journals
from tests.support.challenging import challenge
from tests.support.tracked import synced

FAR_S = 3600.0


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch, databases):
    """A home of its own; MLflow, its registry included, is that of all tests."""
    store.client()  # makes MLflow's experiments in the home of all tests, where they look for its files
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    return tmp_path


def searched(own_home, *, ended=True, origin=None, seed=0):
    key = uuid.uuid4().hex[:16]
    params = {f"instances.{k}": v for k, v in InstancesConfig(seed=seed).model_dump(mode="json").items()}
    journal = journals.opened(key, own_home / "runs" / key, origin, params=params)
    journals.add_search(journal, 1)
    if ended:
        journals.add_end(journal)
    run = synced(journal.folder)
    samples = own_home / "decisions" / samples_name(InstancesConfig(seed=seed)) / "parts"
    samples.mkdir(parents=True, exist_ok=True)
    (samples / "one.npz").write_bytes(b"x" * 1000)
    return key, run.run_id


def old(after_s=FAR_S):
    return Retention(time.time() + after_s)


def keys(retention):
    return {one.folders[0].name for one in retention.studies}


def test_what_evidence_names_stays_with_its_expert_samples_and_flow_run(own_home):
    flow_run = str(uuid.uuid4())
    named, run_id = searched(own_home, origin={provenance.WHOLE_RUN: flow_run})
    other, _ = searched(own_home, seed=1)
    challenge(f"bife-test-{uuid.uuid4().hex[:8]}", 0, evolution_key=named, evolution_run=run_id)
    found = old()
    assert keys(found) == {other}
    assert [one.folders[0].name for one in found.samples] == [samples_name(InstancesConfig(seed=1))]
    assert flow_run in found.flow_runs


def test_what_is_young_or_under_way_stays(own_home):
    ended, _ = searched(own_home)
    searched(own_home, ended=False, seed=1)
    assert keys(old()) == {ended}
    young = old(-FAR_S)
    assert (young.studies, young.samples) == ([], [])


def test_what_was_removed_comes_back_from_the_store(own_home):
    key, run_id = searched(own_home)
    before = list(home_store().events(key))
    calls = home_store().calls()
    (search,), (samples,) = old().studies, old().samples
    assert 0.001 <= samples.size_mb < 0.01
    assert search.size_mb > 0
    assert len(search.runs) > 1  # its samples have runs of their own
    search.remove()
    samples.remove()
    assert not (own_home / "runs" / key).exists()
    assert {store.client().get_run(run).info.lifecycle_stage for run in search.runs} == {"deleted"}
    assert (old().studies, old().samples) == ([], [])
    assert (list(home_store().events(key)), home_store().calls()) == (before, calls)
    assert synced(own_home / "runs" / key).run_id not in ("", run_id)
