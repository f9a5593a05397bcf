"""Signals end a run within seconds, leave nothing behind, and are known to Prefect."""

import os
import signal
import subprocess
import sys
import time
from itertools import product

import psutil
import pytest

from bife_core.cli.running import GO_ON
from tests.support.processes import VARIABLE, left_over
from tests.support.programs import PROGRAM, REPOSITORY, environment, python, sentence

COLLECT = [*PROGRAM, "collect", "--preset", "smoke"]
COLLECTING = [*COLLECT, "--set", "collection.decisions=9999", "--set", "collection.max_instances=40"]
STUBBORN = """
import signal, time
from bife_core.cli.running import ending_at_once
with ending_at_once(lambda: None, lambda: time.sleep(60)) as take_signals:
    signal.signal(signal.SIGTERM, lambda *_: None)  # as Prefect does while a flow runs
    take_signals()
    print("ready", flush=True)
    time.sleep(60)
"""
PREFECTS_RUNS = """
from bife_flows.operate.running import start_embedded_api
from prefect.client.orchestration import get_client
start_embedded_api()
with get_client(sync_client=True) as client:
    print(sorted(run.state_name for run in client.read_flow_runs()))
"""


# A run that ends by itself, or is ended while it has started nothing, the guard of Prefect's API, that API, a worker.
CASES = [(None, 0), *product((signal.SIGINT, signal.SIGTERM, signal.SIGKILL), range(4))]


def collecting(home):
    """Start a collection in a process group of its own, as a terminal does, and wait until it records."""
    before = len(list(home.glob("decisions/*/parts/*.npz")))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(COLLECTING, env=environment(home), process_group=0, **pipes)
    assert process.stdout.readline().startswith("collection: 9999 decisions")
    deadline = time.monotonic() + 120.0
    while len(list(home.glob("decisions/*/parts/*.npz"))) == before and time.monotonic() < deadline:
        time.sleep(0.1)
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) >= 2  # Prefect's API and a worker
    return process, family


@pytest.mark.long
def test_a_killed_run_and_an_interrupted_one_leave_no_process_and_prefect_knows_of_both(tmp_path):
    killed, family = collecting(tmp_path)
    killed.kill()
    killed.communicate()
    _, alive = psutil.wait_procs(family, timeout=10.0)
    assert alive == []

    interrupted, family = collecting(tmp_path)
    began_s = time.monotonic()
    os.killpg(interrupted.pid, signal.SIGINT)
    _, errors = interrupted.communicate(timeout=60)
    assert time.monotonic() - began_s < 5.0
    assert interrupted.returncode == 128 + signal.SIGINT
    assert sentence(errors) == GO_ON
    _, alive = psutil.wait_procs(family, timeout=5.0)
    assert alive == []
    done = python("-c", PREFECTS_RUNS, home=tmp_path, PREFECT_HOME=str(tmp_path / "prefect"))
    assert done.stdout.strip() == "['Cancelled', 'Crashed']"


@pytest.mark.parametrize(
    ("number", "processes"),
    [(signal.SIGKILL, 1), *(pytest.param(*case, marks=pytest.mark.long) for case in CASES)],
)
def test_no_process_outlives_a_run(tmp_path, databases, number, processes):
    mark = f"{os.environ[VARIABLE]}-{tmp_path.name}"
    variables = environment(databases(tmp_path), **{VARIABLE: mark})
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run = subprocess.Popen(COLLECT, env=variables, process_group=0, **quiet)
    if number is not None:
        time.sleep(0.3)
        while len(psutil.Process(run.pid).children(recursive=True)) < processes:
            assert run.poll() is None
            time.sleep(0.02)
        os.killpg(run.pid, number)
    assert (run.wait(timeout=120) == 0) == (number is None)
    assert left_over(mark) == []


@pytest.mark.parametrize(
    ("signals", "longest_s"),
    [([signal.SIGTERM], 5.0), ([signal.SIGINT], 5.0), ([signal.SIGINT, signal.SIGINT], 1.0)],
)
def test_servers_that_do_not_answer_are_not_waited_for_and_a_second_ctrl_c_waits_for_nothing(
    signals, longest_s
):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", STUBBORN], cwd=REPOSITORY, **pipes)
    assert process.stdout.readline() == "ready\n"
    for number in signals:
        time.sleep(0.3)
        last_s = time.monotonic()
        process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - last_s < longest_s
    assert process.returncode == 128 + signals[-1]
    assert sentence(errors) == GO_ON
