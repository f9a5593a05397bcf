"""`bife ui`: the pages alone, until Ctrl-C."""

import os
import signal
import subprocess
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil
import pytest

from flows.operate.servers import free_port
from tests.flows.cli.conftest import PROGRAM, environment


def gone(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.long
def test_servers_of_ones_own_are_named_and_not_started(program):
    done = program(
        "ui",
        MLFLOW_TRACKING_URI="http://mlflow.example.org:5000",
        PREFECT_API_URL="http://127.0.0.1:4200/api",
    )
    assert done.returncode == 0
    assert done.stdout.split() == [
        "Prefect",
        "http://127.0.0.1:4200",
        "MLflow",
        "http://mlflow.example.org:5000/#/experiments?workflowType=machine_learning",
    ]


@pytest.mark.long  # what `bife up` serves is looked at in tests/flows/operate
def test_both_pages_are_served_and_ctrl_c_leaves_no_process(tmp_path):
    ports = [str(free_port(0)) for _ in range(2)]
    process = subprocess.Popen(
        [*PROGRAM, "ui", "--mlflow-port", ports[0], "--prefect-port", ports[1]],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    family = []
    try:
        said = []
        for line in process.stdout:
            said.append(line.strip())
            if "Ctrl-C" in line:
                break
        assert said[1:] == [
            f"Prefect  http://127.0.0.1:{ports[1]}",
            f"MLflow   http://127.0.0.1:{ports[0]}/#/experiments?workflowType=machine_learning",
            "Press Ctrl-C to stop.",
        ]
        family = psutil.Process(process.pid).children(recursive=True)
        with urlopen(f"http://127.0.0.1:{ports[0]}/") as reply:
            assert b"MLflow" in reply.read()
        with urlopen(f"http://127.0.0.1:{ports[1]}/ui-settings") as reply:
            assert f"http://127.0.0.1:{ports[1]}/api".encode() in reply.read()
        foreign = Request(
            f"http://127.0.0.1:{ports[1]}/api/flow_runs/count",
            data=b"{}",
            headers={"Origin": "http://evil.example.org", "Content-Type": "application/json"},
        )
        with pytest.raises(HTTPError, match="403"):
            urlopen(foreign)
    finally:
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Stopping" in rest
    deadline = time.monotonic() + 5.0
    while not all(gone(member.pid) for member in family) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(family) >= 2
    assert all(gone(member.pid) for member in family)
    assert os.listdir(tmp_path / "logs")  # noqa: PTH208 - any file will do
