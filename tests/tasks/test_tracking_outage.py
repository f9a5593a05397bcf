"""A tracking server that is killed in the middle of a search and comes back."""

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from flows.operate.servers import LOOPBACK, Server, free_port

REPOSITORY = Path(__file__).parents[2]

SEARCH = """
import sys
from bife_core.search import Sample, SampleRequest
from tasks.home import prepare_environment
prepare_environment()
from tasks.records import SampleRecord
from tasks.tracking import deliver_waiting, spool
from tasks.tracking.evolution import EvolutionTracker
from tasks.tracking.stages import track_stage

spool.RETRY_S = 0.5
SOURCE = "def candidate_variable_score(variable_features) -> float:\\n    return variable_features[18]\\n"

def record(number):
    name = f"g00-c{number:02d}"
    request = SampleRequest(id=name, generation=0, operator="i1", seed=number)
    sample = Sample(id=name, generation=0, operator="i1", sha=name, source=SOURCE, f_lf=number / 10)
    return SampleRecord(request=request, sample=sample)

tracker = EvolutionTracker("outage", "an evolution", {"search.seed": 0}, {"benchmark": "toys"})
told = []
for line in sys.stdin:
    if line == "tell\\n":
        told.append(record(len(told)))
        tracker.samples(told)
        tracker.generation(len(told), {"samples": float(len(told))}, rows=[{"id": "x"}], files=[])
    elif line == "stage\\n":
        print("stage", track_stage("bife-evaluation", "stage", "a stage", params={"a": 1}, metrics={"ratio": 0.5},
                                   tags={"kind": "evaluation"}) or "kept", flush=True)
    elif line == "finish\\n":
        tracker.finish([], {"final_f_hf": -1.0}, {"best_sample": "g00-c00"})
    print(deliver_waiting() or "all delivered", flush=True)
"""


def mlflow_server(home, port):
    command = [
        sys.executable,
        "-m",
        "mlflow",
        "server",
        "--host",
        LOOPBACK,
        "--port",
        str(port),
        "--workers",
        "1",
    ]
    command += ["--backend-store-uri", f"sqlite:///{home / 'server.db'}"]
    command += ["--artifacts-destination", (home / "artifacts").as_uri()]
    environment = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_TRACKING_URI": ""}
    address = f"http://{LOOPBACK}:{port}"
    server = Server("MLflow", command, environment, f"{address}/health", home / "server.log")
    server.wait_ready()
    return server, address


@pytest.mark.slow
def test_what_is_told_during_an_outage_is_delivered_in_order_and_once(tmp_path):
    port = free_port(0)
    server, address = mlflow_server(tmp_path, port)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_")}
    search = subprocess.Popen(
        [sys.executable, "-c", SEARCH],
        env=inherited
        | {"BIFE_HOME": str(tmp_path), "MLFLOW_TRACKING_URI": address, "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def say(word):
        search.stdin.write(f"{word}\n")
        search.stdin.flush()
        return search.stdout.readline().rstrip()

    try:
        assert say("tell") == "all delivered"
        server.stop()
        assert say("tell").startswith(
            f"2 records are kept in {tmp_path / 'spool'} because MLflow at {address}"
        )
        assert say("tell").startswith("4 records are kept")
        assert say("stage") == "stage kept"
        assert search.stdout.readline().startswith("5 records are kept")
        server, _ = mlflow_server(tmp_path, port)
        time.sleep(0.6)
        assert say("tell") == "all delivered"
        assert say("finish") == "all delivered"
    finally:
        search.stdin.close()
        search.wait(60)
        search.stdout.close()
        server.stop()
    assert list((tmp_path / "spool").rglob("*.json")) == []
    with closing(sqlite3.connect(tmp_path / "server.db")) as database:
        runs = database.execute("select name, status from runs order by name").fetchall()
        steps = database.execute("select step from metrics where key = 'samples' order by rowid").fetchall()
    assert runs == [
        ("a stage", "FINISHED"),
        ("an evolution", "FINISHED"),
        *((f"g00-c{number:02d}", "FINISHED") for number in range(4)),
    ]
    assert [step for (step,) in steps] == [1, 2, 3, 4]
