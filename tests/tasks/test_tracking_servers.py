"""MLflow's servers and databases: one that is cut off in the middle of a search, and one that lost everything.

`test_tracking_subscriber` loses a server at any write, in this process.
"""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from mlflow import MlflowClient

from bife_core.store import Store
from bife_flows.operate.servers import LOOPBACK, Server, free_port
from bife_tasks.tracking.subscriber import Record
from tests.support import journals
from tests.support.programs import environment, program

SEARCH = """
import sys
from bife_core.store.home import project_home
from bife_tasks.home import prepare_environment
prepare_environment()
from bife_tasks.stores import ENDED, home_store
from bife_tasks.tracking import subscriber
from bife_tasks.tracking.subscriber import Record, synchronise, track_search, track_record
from tests.support import journals
from tests.support.programs import environment, program

subscriber.RETRY_S = 0.5
folder = project_home().runs / "outage"
journal = journals.opened("outage", folder)
written = 0
for line in sys.stdin:
    if line == "generation\\n":
        journals.add_sample(journal, f"g{written:02d}-c00", f_lf=0.5, attempts=(journals.attempt(answer="a rule"),))
        written += 1
        journals.add_generation(journal, written)
        track_search(folder.name)
    elif line == "stage\\n":
        stage = Record(experiment="bife-evaluation", key="stage", name="a stage", params={"a": 1},
                      metrics={"ratio": 0.5}, tags={"kind": "evaluation"})
        print("stage", track_record(project_home().runs / "evaluation-stage", stage) or "kept", flush=True)
    elif line == "end\\n":
        journals.add_end(journal)
        track_search(folder.name)
    with home_store().claim("search outage"):
        left = synchronise(ENDED)
    print(left or "all delivered", flush=True)
"""


def mlflow_server(home, port):
    command = [sys.executable, "-m", "mlflow", "server", "--host", LOOPBACK, "--port", str(port)]
    command += ["--workers", "1", "--backend-store-uri", f"sqlite:///{home / 'mlflow' / 'mlflow.db'}"]
    command += ["--artifacts-destination", (home / "artifacts").as_uri()]
    environment = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_TRACKING_URI": ""}
    address = f"http://{LOOPBACK}:{port}"
    server = Server("MLflow", command, environment, f"{address}/health", home / "server.log")
    server.wait_ready()
    return server


@pytest.mark.long
def test_what_happens_during_an_outage_is_delivered_in_order_and_once(databases, tmp_path):
    port = free_port(0)
    server = mlflow_server(databases(tmp_path), port)
    address = f"http://{LOOPBACK}:{port}"
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    there = environment(tmp_path, MLFLOW_TRACKING_URI=address)
    search = subprocess.Popen([sys.executable, "-c", SEARCH], env=there, **streams)

    def say(word):
        search.stdin.write(f"{word}\n")
        search.stdin.flush()
        return search.stdout.readline().rstrip()

    try:
        assert say("generation") == "all delivered"
        server.stop()
        left = f"MLflow lacks records of 1 run: MLflow at {address} does not take records"
        assert say("generation").startswith(left)
        assert say("generation").startswith(left)
        assert say("stage") == "stage kept"
        assert search.stdout.readline().startswith("MLflow lacks records of 2 runs")
        # It takes longer to start than the search waits between attempts.
        server = mlflow_server(tmp_path, port)
        assert say("generation") == "all delivered"
        assert say("end") == "all delivered"
    finally:
        search.stdin.close()
        search.wait(60)
        search.stdout.close()
        server.stop()
    with closing(sqlite3.connect(tmp_path / "mlflow" / "mlflow.db")) as database:
        runs = database.execute("select name, status from runs order by name").fetchall()
        every = "select step from metrics where key = 'samples_total' order by rowid"
        steps = [step for (step,) in database.execute(every)]
        traces = database.execute("select count(*) from trace_info").fetchone()
    names = ["a search", "a stage", *(f"g{number:02d}-c00" for number in range(4))]
    assert runs == [(name, "FINISHED") for name in names]
    assert steps == [1, 2, 3, 4]
    assert traces == (4,)


def in_mlflow(database):
    """Return all that an MLflow holds of our runs, without the ids it gives."""
    client = MlflowClient(tracking_uri=f"sqlite:///{database}")
    experiments = [found.experiment_id for found in client.search_experiments() if found.name != "Default"]
    runs = client.search_runs(experiments, max_results=1000)
    names = {run.info.run_id: run.data.tags.get("bife.key", run.info.run_name) for run in runs}
    traces = client.search_traces(locations=experiments, include_spans=True, max_results=500)
    held = {}
    for run in runs:
        info, tags = run.info, dict(run.data.tags)
        above = names.get(tags.pop("mlflow.parentRunId", None), "")
        metrics = {
            name: [(at.step, at.value, at.timestamp) for at in client.get_metric_history(info.run_id, name)]
            for name in run.data.metrics
        }
        place = Path(info.artifact_uri.removeprefix("file://"))
        files = {path.name: path.read_bytes() for path in place.glob("*") if path.is_file()}
        times = (info.start_time, info.end_time)
        facts = {"status": info.status, "times": times, "params": run.data.params}
        held[above, names[info.run_id]] = facts | {"tags": tags, "metrics": metrics, "files": files}
    for trace in traces:
        info, span = trace.info, trace.data.spans[0]
        above = names[info.request_metadata["mlflow.sourceRun"]]
        tags = {name: info.tags[name] for name in ("bife.call", "operator", "generation")}
        facts = (info.request_time, info.execution_duration, str(info.state), info.token_usage)
        held[above, f"call {tags['bife.call']}"] = (*facts, tags, span.name, span.outputs)
    assert len(held) == len(runs) + len(traces), "nothing was there twice"
    return held


def open_search(home, key, **known):
    return journals.opened(key, home / "runs" / key, store=Store(home), name=key, **known)


@pytest.fixture
def full_home(tmp_path):
    """A home with a search that ended, one that was taken up again, one that was killed, and an evaluation."""
    home = tmp_path / "home"
    ended = open_search(home, "ended")
    journals.add_search(ended, 2)
    journals.add_end(ended)
    again = open_search(home, "again")
    journals.add_search(again, 1)
    journals.add_calls(again, "g01-c09", journals.TRIED_TWICE)
    journals.add_end(again, ended_by="budget.calls is used up: 3 of 3 calls were made.")
    journals.add_draft(open_search(home, "again"), "g01-c00")
    killed = open_search(home, "killed")
    journals.add_sample(killed, f_lf=0.5)
    folder = home / "runs" / "evaluation-e"
    folder.mkdir()
    (folder / "report.html").write_text("<p>")
    about = {"experiment": "bife-evaluation", "key": "e", "name": "a rule vs relpscost"}
    tables = {"solves_table.json": ({"instance": "x", "cpu_s": 1.0},)}
    measured = {"params": {"rule": "a"}, "metrics": {"ratio": 0.5, "p_value": None}, "tables": tables}
    record = Record(
        **about, **measured, tags={"kind": "evaluation"}, files=("report.html",), at_unix_s=1_700_000_000.5
    )
    killed.store.open_study(folder.name, "evaluation", record.name)
    killed.store.append(folder.name, "record", record.model_dump(mode="json"))
    return home


@pytest.mark.long
@pytest.mark.timeout(600)  # three programs start one after the other
def test_an_empty_mlflow_is_given_all_that_another_one_had(full_home, tmp_path):
    database = tmp_path / "mlflow.db"
    place = {"home": full_home, "MLFLOW_TRACKING_URI": f"sqlite:///{database}"}
    written = program("track", **place)
    assert written.returncode == 0, written.stderr
    assert "ended  ended: written" in written.stdout
    assert "4 runs written, 0 left." in written.stdout
    # The database is lost, and the cursors do not know it.
    held = in_mlflow(database.rename(tmp_path / "lost.db"))
    assert held["", "ended"]["status"] == "FINISHED"
    assert [held["", name]["status"] for name in ("again", "killed")] == ["FAILED", "FAILED"]
    assert held["", "killed"]["tags"]["stopped"].startswith("The process ended")
    assert held["", "e"]["files"].keys() == {"report.html", "solves_table.json"}
    assert held["", "e"]["times"] == (1_700_000_000_500, 1_700_000_000_500)

    nothing = program("track", **place)
    assert "0 runs written, 0 left." in nothing.stdout
    rebuilt = program("track", "--rebuild", **place)
    assert "4 runs written, 0 left." in rebuilt.stdout
    assert in_mlflow(database) == held
