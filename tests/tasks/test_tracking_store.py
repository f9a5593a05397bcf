import json
import os
import sqlite3
import subprocess
import sys
import time
import uuid
from contextlib import closing
from pathlib import Path

import pytest
from mlflow.exceptions import MlflowException

from tasks.tracking import store

ML = "?workflowType=machine_learning"
"""How MLflow is asked for the mode that shows runs and the registry."""

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def key():
    return uuid.uuid4().hex[:16]


@pytest.fixture
def run_id(key):
    return store.open_run(store.EVALUATION, key, "a run", {})[0]


EIGHT_WRITERS = """
import os, sys
from tasks.tracking import store

writers = []
for writer in range(8):
    child = os.fork()
    if child == 0:
        run, _ = store.open_run(store.EVOLUTION, "same", "shared", {"kind": "evolution"})
        for n in range(2):
            made = store.create_child(store.EVOLUTION, run, f"w{writer}-{n}", {"sample_id": f"w{writer}-{n}"})
            store.log(made.info.run_id, params={"n": n}, metrics={"f_lf": n}, tags={"writer": str(writer)})
            store.client().log_text(made.info.run_id, "text", "rule.py")
            store.client().set_terminated(made.info.run_id)
        os._exit(0)
    writers.append(child)
sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in writers))
"""


@pytest.mark.long
def test_eight_writers_that_meet_a_fresh_database_share_one_run_and_lose_no_row(tmp_path):
    database = tmp_path / "mlflow" / "mlflow.db"
    environment = os.environ | {
        "BIFE_HOME": str(tmp_path),
        "MLFLOW_TRACKING_URI": f"sqlite:///{database}",
        "PYTHONPATH": str(REPOSITORY),
    }
    done = subprocess.run([sys.executable, "-c", EIGHT_WRITERS], env=environment, check=False, timeout=280)
    assert done.returncode == 0
    with closing(sqlite3.connect(database)) as connection:
        counts = {
            table: connection.execute(f"select count(*) from {table}").fetchone()[0]
            for table in ("runs", "params", "metrics", "experiments")
        }
        ended = connection.execute("select count(*) from runs where status = 'FINISHED'").fetchone()[0]
        intact = connection.execute("pragma integrity_check").fetchone()[0]
    assert counts == {"runs": 1 + 16, "params": 16, "metrics": 16, "experiments": 4}
    assert (ended, intact) == (16, "ok")
    assert len(list((tmp_path / "mlflow" / "artifacts").rglob("rule.py"))) == 16


@pytest.mark.long
def test_a_database_whose_making_was_killed_is_made_anew(tmp_path):
    """The migration takes a second or two, and what it leaves half-way could not be opened again."""
    program = "from tasks.tracking import require_store; require_store()"
    environment = os.environ | {
        "BIFE_HOME": str(tmp_path),
        "MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow/mlflow.db",
        "PYTHONPATH": str(REPOSITORY),
    }
    killed = subprocess.Popen([sys.executable, "-c", program], env=environment)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("mlflow/.mlflow.db.*")) and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.3)
    killed.kill()
    killed.wait()
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert [path.name for path in (tmp_path / "mlflow").iterdir()] == ["mlflow.db"]


def test_a_run_is_found_again_and_says_whether_it_ended(key):
    first, complete = store.open_run(store.EVALUATION, key, "a run", {"kind": "evaluation"})
    assert not complete
    store.client().set_terminated(first, "FAILED")
    assert store.open_run(store.EVALUATION, key, "a run", {}) == (first, False)
    store.client().set_terminated(first, "FINISHED")
    assert store.open_run(store.EVALUATION, key, "a run", {}) == (first, True)


def test_logging_the_same_again_doubles_nothing(run_id):
    for _ in range(2):
        store.log(run_id, metrics={"f_lf": 0.5, "absent": None}, params={"a": 1}, step=2, time_ms=1000)
    history = store.client().get_metric_history(run_id, "f_lf")
    assert [(point.step, point.value) for point in history] == [(2, 0.5)]
    assert "absent" not in store.client().get_run(run_id).data.metrics


def test_more_params_than_one_request_takes(run_id):
    params = {f"p{n}": n for n in range(230)}
    store.log(run_id, params=params)
    assert store.client().get_run(run_id).data.params == {name: str(n) for name, n in params.items()}


def test_a_table_is_replaced_and_keeps_its_order(run_id):
    store.log_table(run_id, [{"id": "b", "f": 1.0}], "t.json")
    store.log_table(run_id, [{"id": "b", "f": 1.0}, {"id": "a", "f": None}], "t.json")
    table = store.client().load_table(store.experiment_id(store.EVALUATION), "t.json", [run_id])
    assert list(table["id"]) == ["b", "a"]
    tags = store.client().get_run(run_id).data.tags
    assert json.loads(tags["mlflow.loggedArtifacts"]) == [{"path": "t.json", "type": "table"}]


def test_datasets_are_recorded_once(run_id):
    for _ in range(2):
        store.log_dataset(
            run_id, name="d", digest="abc", source="/x", profile={"decisions": 3}, context="collection"
        )
    inputs = store.client().get_run(run_id).inputs.dataset_inputs
    assert [(entry.dataset.name, entry.dataset.digest) for entry in inputs] == [("d", "abc")]


def test_artifacts_lie_in_the_home_and_not_in_the_working_directory(run_id, home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store.client().log_text(run_id, "x", "note.txt")
    (note,) = (home / "mlflow" / "artifacts").rglob(f"{run_id}/**/note.txt")
    assert note.read_text() == "x"
    assert list(tmp_path.iterdir()) == []


def test_children_are_all_found(run_id):
    made = {store.create_child(store.EVALUATION, run_id, f"c{n}", {}).info.run_id for n in range(3)}
    assert {run.info.run_id for run in store.children(store.EVALUATION, run_id)} == made


def test_links_are_relative_to_the_local_ui_and_absolute_on_a_server(run_id, monkeypatch):
    number = store.experiment_id(store.EVALUATION)
    assert store.run_url(run_id, store.EVALUATION) == f"#/experiments/{number}/runs/{run_id}{ML}"
    monkeypatch.setattr(store, "tracking_uri", lambda: "http://mlflow.example:5000")
    assert store.run_url(run_id, store.EVALUATION).startswith("http://mlflow.example:5000/#/experiments/")


def test_an_unreachable_store_gives_one_sentence(tmp_path):
    program = """
from tasks.tracking import TrackingError, experiment_id
try:
    experiment_id("bife-evolution")
except TrackingError as error:
    print(error)
"""
    environment = os.environ | {
        "BIFE_HOME": str(tmp_path),
        "MLFLOW_TRACKING_URI": "http://127.0.0.1:9",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
        "PYTHONPATH": str(REPOSITORY),
    }
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("MLflow's store at http://127.0.0.1:9 cannot be used (")
    assert done.stdout.rstrip().endswith("whether its server runs.")


def test_what_another_machine_has_just_made_is_no_trouble():
    """Machines that share a server share no lock, so that two of them may make an experiment."""
    with store.made_by_another():
        store.client().create_experiment(store.EVOLUTION)
    with pytest.raises(MlflowException, match="not found"), store.made_by_another():
        store.client().get_run("0" * 32)
