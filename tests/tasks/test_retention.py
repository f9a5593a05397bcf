"""What may go of a home that is old, and that no evidence does."""

import os
import time
import uuid

import pytest

from bife_core.instances.base import Instance
from bife_core.measure.decisions.recorded import concatenate
from bife_core.run.presets import preset
from bife_core.run.study import create_study
from bife_tasks.retention import Retention
from bife_tasks.stores import home_store
from bife_tasks.tracking import mlflow_runs, provenance
from tests.support import journals
from tests.support.challenging import challenge
from tests.support.tracked import synced

FAR_S = 3600.0


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch, databases):
    """A home of its own; MLflow, its registry included, is that of all tests."""
    mlflow_runs.client()  # makes MLflow's experiments in the home of all tests, where they look for its files
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    return tmp_path


def searched(own_home, *, ended=True, origin=None, seed=0):
    key = uuid.uuid4().hex[:16]
    journal = journals.opened(key, own_home / "runs" / key, origin, params={"decisions": f"{seed:016}"})
    tried = journals.add_sample(journal, attempts=journals.TRIED_TWICE, f_lf=0.5, f_hf=-2.0)
    journals.write_files(journal.folder, [tried])
    if ended:
        journals.add_end(journal)
    run = synced(journal.folder)
    record(own_home, f"{seed:016}")
    return key, run.run_id


def record(own_home, digest):
    """Write the files of expert samples, and return the merged one."""
    parts = own_home / "decisions" / f"toys-{digest}" / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    (parts / "one.npz").write_bytes(b"x" * 1000)
    merged = parts.parent / f"decisions-{digest}.npz"
    merged.write_bytes(b"x")
    return merged


def old(after_s=FAR_S):
    return Retention(time.time() + after_s)


def keys(retention):
    return {one.folders[0].name for one in retention.studies}


def test_what_evidence_names_stays_with_its_expert_samples_and_flow_run(own_home):
    flow_run = str(uuid.uuid4())
    named, run_id = searched(own_home, origin={provenance.WHOLE_RUN: flow_run})
    other, _ = searched(own_home, seed=1)
    challenge(f"bife-test-{uuid.uuid4().hex[:8]}", 0, search_key=named, search_run=run_id)
    found = old()
    assert keys(found) == {other}
    assert [one.folders[0].name for one in found.samples] == ["toys-0000000000000001"]
    assert flow_run in found.flow_runs


def test_what_is_young_or_under_way_stays(own_home):
    ended, _ = searched(own_home)
    searched(own_home, ended=False, seed=1)
    assert keys(old()) == {ended}
    young = old(-FAR_S)
    assert (young.studies, young.samples) == ([], [])


def test_expert_samples_that_a_study_of_the_library_uses_or_may_use_stay(own_home, monkeypatch):
    nothing, young = concatenate([]), time.time()
    used, other = record(own_home, nothing.digest), record(own_home, "0" * 16)
    (own_home / "decisions" / "linked").symlink_to(own_home)
    (own_home / "decisions" / "notes.txt").touch()
    nothing.save(used)
    monkeypatch.setattr(time, "time", lambda: young + 200 * 86400.0)  # the files are of 200 days ago
    create_study(preset("smoke"), [Instance("a", own_home, "a")], used, store=home_store())
    os.utime(used, (1.0, 1.0))
    found = Retention(young + 100 * 86400.0)
    assert [one.folders for one in found.samples] == [(other.parent,)]
    create_study(preset("smoke"), [Instance("b", own_home, "b")], used, folder=own_home / "elsewhere")
    assert used.stat().st_mtime > 1.0, "whatever store it is in"
    journals.opened("c" * 16, own_home / "runs" / "c", params={})
    assert Retention(young + 100 * 86400.0).samples == [], "that study does not say what it uses"


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
    assert {mlflow_runs.client().get_run(run).info.lifecycle_stage for run in search.runs} == {"deleted"}
    assert (old().studies, old().samples) == ([], [])
    assert (list(home_store().events(key)), home_store().calls()) == (before, calls)
    assert synced(own_home / "runs" / key).run_id not in ("", run_id)
