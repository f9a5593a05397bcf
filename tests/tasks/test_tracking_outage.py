"""A tracking server that is cut off in the middle of a search and comes back.

`test_tracking_delivery` loses one at any write, in this process.
"""

import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from flows.operate.servers import LOOPBACK, Server, free_port

REPOSITORY = Path(__file__).parents[2]

SEARCH = """
import sys
from tasks.home import prepare_environment, project_home
prepare_environment()
from tasks.stores import home_store
from tasks import tracking
from tasks.tracking import GONE, EvolutionRun, Record, synchronise, track_record
from tests.support import journals

tracking.RETRY_S = 0.5
folder = project_home().runs / "outage"
journal = journals.opened("outage", folder)
projection = EvolutionRun(folder.name)
told = 0
for line in sys.stdin:
    if line == "generation\\n":
        journals.add_sample(journal, f"g{told:02d}-c00", f_lf=0.5, attempts=(journals.attempt(answer="a rule"),))
        told += 1
        journals.add_generation(journal, told)
        projection.sync()
    elif line == "stage\\n":
        stage = Record(experiment="bife-evaluation", key="stage", name="a stage", params={"a": 1},
                      metrics={"ratio": 0.5}, tags={"kind": "evaluation"})
        print("stage", track_record(project_home().runs / "evaluation-stage", stage) or "kept", flush=True)
    elif line == "end\\n":
        journals.add_end(journal)
        projection.sync()
    with home_store().claim("evolution outage"):
        left = synchronise(GONE)
    print(left.sentence if left else "all delivered", flush=True)
"""


class Cable:
    """What lies between a client and a server; cut, the client is refused as if there were no server."""

    def __init__(self, server_port):
        self._server_port = server_port
        self.port = free_port(0)
        self.join()

    def join(self):
        self._ends = []
        self._door = socket.create_server((LOOPBACK, self.port))
        threading.Thread(target=self._connect, args=(self._door,), daemon=True).start()

    def cut(self):
        for end in (self._door, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _connect(self, door):
        with suppress(OSError):
            while True:
                near, _ = door.accept()
                far = socket.create_connection((LOOPBACK, self._server_port))
                self._ends += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    @staticmethod
    def _carry(source, sink):
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


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
    command += ["--backend-store-uri", f"sqlite:///{home / 'mlflow' / 'mlflow.db'}"]
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
    cable = Cable(port)
    address = f"http://{LOOPBACK}:{cable.port}"
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
        assert say("generation") == "all delivered"
        cable.cut()
        left = say("generation")
        assert left.startswith(
            f"4 records wait for MLflow: 1 run is not, or not whole, there, because {address} cannot be reached"
        )
        assert say("generation").startswith("8 records wait for MLflow: 1 run is")
        assert say("stage") == "stage kept"
        assert search.stdout.readline().startswith("9 records wait for MLflow: 2 runs are not")
        cable.join()
        time.sleep(0.6)
        assert say("generation") == "all delivered"
        assert say("end") == "all delivered"
    finally:
        search.stdin.close()
        search.wait(60)
        search.stdout.close()
        cable.cut()
        server.stop()
    with closing(sqlite3.connect(tmp_path / "mlflow" / "mlflow.db")) as database:
        runs = database.execute("select name, status from runs order by name").fetchall()
        steps = database.execute("select step from metrics where key = 'samples' order by rowid").fetchall()
        traces = database.execute("select count(*) from trace_info").fetchone()
    assert runs == [
        ("a stage", "FINISHED"),
        ("an evolution", "FINISHED"),
        *((f"g{number:02d}-c00", "FINISHED") for number in range(4)),
    ]
    assert [step for (step,) in steps] == [1, 2, 3, 4]
    assert traces == (4,)
