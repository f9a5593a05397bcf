"""All studies of a store, written to one MLflow and then to another that is empty."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mlflow import MlflowClient

from bife_core.store import Store
from tasks.tracking import Record
from tests.support import journals

REPOSITORY = Path(__file__).parents[2]


def program(*arguments, home, database):
    """Run the command line against an MLflow of its own."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("MLFLOW_", "PREFECT_"))}
    done = subprocess.run(
        [sys.executable, "-c", "from flows.cli import main; main()", *arguments],
        env=inherited
        | {
            "BIFE_HOME": str(home),
            "MLFLOW_TRACKING_URI": f"sqlite:///{database}",
            "PYTHONPATH": str(REPOSITORY),
            "COLUMNS": "200",
        },
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def in_mlflow(database):
    """Return all that an MLflow holds of our runs, without the ids it gives."""
    client = MlflowClient(tracking_uri=f"sqlite:///{database}")
    experiments = [found.experiment_id for found in client.search_experiments() if found.name != "Default"]
    runs = client.search_runs(experiments, max_results=1000)
    parents = {run.info.run_id: run.data.tags["bife.key"] for run in runs if "bife.key" in run.data.tags}
    held = {}
    for run in runs:
        above = parents.get(run.data.tags.get("mlflow.parentRunId"))
        held[parents.get(run.info.run_id) or (above, run.info.run_name)] = _run(client, run)
        tied = client.search_traces(
            locations=experiments, run_id=run.info.run_id, include_spans=True, max_results=500
        )
        held |= {(parents[run.info.run_id], trace.info.tags["bife.call"]): _trace(trace) for trace in tied}
    # Nothing was there twice, and no trace belongs to nobody.
    assert len(client.search_traces(locations=experiments, max_results=500)) + len(runs) == len(held)
    return held


def _run(client, run):
    history = {
        name: [
            (point.step, point.value, point.timestamp)
            for point in client.get_metric_history(run.info.run_id, name)
        ]
        for name in run.data.metrics
    }
    tags = {name: value for name, value in run.data.tags.items() if name != "mlflow.parentRunId"}
    place = Path(run.info.artifact_uri.removeprefix("file://"))
    return {
        "name": run.info.run_name,
        "status": run.info.status,
        "times": (run.info.start_time, run.info.end_time),
        "params": run.data.params,
        "metrics": history,
        "tags": tags,
        "inputs": [(found.dataset.name, found.dataset.digest) for found in run.inputs.dataset_inputs],
        "artifacts": {path.name: path.read_bytes() for path in place.glob("*") if path.is_file()},
    }


def _trace(trace):
    info, span = trace.info, trace.data.spans[0]
    return {
        "times": (info.request_time, info.execution_duration),
        "state": str(info.state),
        "tokens": info.token_usage,
        "preview": info.request_preview,
        "tags": {name: info.tags[name] for name in ("bife.call", "recorded", "operator", "generation")},
        "inputs": span.inputs,
        "outputs": span.outputs,
    }


def open_search(home, key, **known):
    dataset = {"name": "toys", "digest": "abc", "source": "/x", "profile": {"n": 3}, "context": "design"}
    return journals.opened(
        key, home / "runs" / key, store=Store(home), name=key, datasets=(dataset,), **known
    )


@pytest.fixture
def full_home(tmp_path):
    """A home with a search that ended, one that was taken up again, one that was killed, and an evaluation."""
    home = tmp_path / "home"
    ended = open_search(home, "ended")
    journals.add_search(ended, 2)
    journals.add_end(ended)
    again = open_search(home, "again")
    journals.add_search(again, 1)
    journals.add_unanswered(again, attempts=journals.TRIED_TWICE)
    journals.add_end(again, ended_by="budget.calls is used up: 3 of 3 calls were made.")
    journals.add_draft(open_search(home, "again"), "g01-c00")
    killed = open_search(home, "killed")
    journals.add_sample(killed, f_lf=0.5)
    folder = home / "runs" / "evaluation-e"
    folder.mkdir()
    (folder / "report.html").write_text("<p>")
    record = Record(
        experiment="bife-evaluation",
        key="e",
        name="a rule vs relpscost",
        params={"rule": "a"},
        metrics={"ratio": 0.5, "p_value": None},
        tags={"kind": "evaluation"},
        tables={"solves_table.json": ({"instance": "x", "cpu_s": 1.0},)},
        files=("report.html",),
        at_unix_s=1_700_000_000.5,
    )
    killed.store.open_study(folder.name, "evaluation", record.name)
    killed.store.append(folder.name, "record", record.model_dump(mode="json"))
    return home


@pytest.mark.long
@pytest.mark.timeout(600)  # three programs start one after the other
def test_an_empty_mlflow_is_given_all_that_another_one_had(full_home, tmp_path):
    database = tmp_path / "mlflow.db"
    told = program("track", home=full_home, database=database)
    assert told.returncode == 0, told.stderr
    assert "ended  ended: 6 samples, 14 traces" in told.stdout
    assert "4 runs written, with 10 samples and 23 traces it lacked; 0 left." in told.stdout
    # Somebody loses the database, and the markers know nothing of it.
    held = in_mlflow(database.rename(tmp_path / "lost.db"))
    assert held["ended"]["status"] == "FINISHED"
    assert [held[name]["status"] for name in ("again", "killed")] == ["FAILED", "FAILED"]
    assert held["killed"]["tags"]["stopped"].startswith("The process ended")
    assert held["e"]["artifacts"].keys() == {"report.html", "solves_table.json"}
    assert held["e"]["times"] == (1_700_000_000_500, 1_700_000_000_500)

    nothing = program("track", home=full_home, database=database)
    assert "0 runs written, with 0 samples and 0 traces it lacked; 0 left." in nothing.stdout
    rebuilt = program("track", "--rebuild", home=full_home, database=database)
    assert "4 runs written, with 10 samples and 23 traces it lacked; 0 left." in rebuilt.stdout
    assert "registers it again" in rebuilt.stdout
    assert in_mlflow(database) == held


@pytest.mark.long
def test_a_study_a_process_works_on_is_left_to_it_and_one_that_cannot_be_read_is_named(
    full_home, databases, tmp_path
):
    database, events = databases(tmp_path) / "mlflow" / "mlflow.db", Store(full_home)
    events.append("ended", "opened", {})
    with events.claim("evolution again"):
        done = program("track", home=full_home, database=database)
    assert done.returncode == 1
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "A process works on it" in lines["again"]
    assert "written by another version of BiFE" in lines["ended"]
    assert "2 runs written" in done.stdout
    assert "2 runs could not be written whole." in done.stderr
    subscriber = f"mlflow sqlite:///{database}"
    assert events.cursor(subscriber, "killed")[1]
    assert events.cursor(subscriber, "again") is None
