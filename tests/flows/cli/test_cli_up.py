"""`bife up`, `bife down` and `bife status` at a home's door. The whole is tested in tests/flows/operate."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import UTC, datetime

import psutil
import pytest

from flows.cli.up import _page
from flows.operate.stack import MARK, Up, end_marked, read_state, state_file, write_state
from tasks.home import Home
from tasks.tracking import store

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def own_home(tmp_path):
    return Home(tmp_path)


def test_up_refuses_an_open_door(bife, monkeypatch, tmp_path):
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    refused = bife("up", "--host", "0.0.0.0")
    assert refused.exit_code == 1
    assert "set BIFE_SERVER_AUTH to name:password" in refused.stderr
    assert not state_file(Home(tmp_path)).exists()


def test_status_and_down_where_nothing_is_up(bife, monkeypatch, tmp_path):
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    for command in ("status", "status --json"):
        assert bife(*command.split()).exit_code == 1
    assert "BiFE is not up in" in bife("status").stdout
    assert bife("down").stdout.startswith("BiFE is not up in")


def test_what_a_killed_start_left_behind_is_ended_by_its_mark(own_home, bife, monkeypatch):
    monkeypatch.setenv("BIFE_HOME", str(own_home.root))
    mark = f"test-{os.getpid()}-{time.time_ns()}"
    # In sessions of their own, as servers and runs are.
    child = subprocess.Popen(SLEEPER, env=os.environ | {MARK: mark}, start_new_session=True)
    other = subprocess.Popen(SLEEPER, env=os.environ | {MARK: f"{mark}-other"}, start_new_session=True)
    try:
        dead = Up(pid=2**22 + 1, created=0.0, mark=mark, home=own_home.root, since=datetime.now(UTC))
        write_state(own_home, dead)
        assert bife("down").stdout.strip() == "Stopped. Left behind and stopped too: 1."
        assert not psutil.pid_exists(child.pid)
        assert other.poll() is None
        assert read_state(own_home) is None
    finally:
        for process in (child, other):
            process.kill()
            process.wait()
    assert end_marked(mark) == 0


def test_the_address_that_is_printed_opens_mlflow_where_it_shows_the_registry():
    assert _page("MLflow", "http://127.0.0.1:5000") == store.page("experiments", "http://127.0.0.1:5000")
    assert _page("Prefect", "http://127.0.0.1:4200") == "http://127.0.0.1:4200"
