"""`bife up`, `bife down` and `bife status` without servers; the whole is tested in tests/flows/operate."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import UTC, datetime

import psutil
import pytest

from flows.operate.stack import MARK, Up, end_marked, read_state, state_file, write_state
from tasks.home import Home

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def own_home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    return Home(tmp_path)


def test_up_for_other_machines_needs_a_password(bife, own_home):
    refused = bife("up", "--host", "0.0.0.0")
    assert refused.exit_code == 1
    assert "set BIFE_SERVER_AUTH to name:password" in refused.stderr
    assert not state_file(own_home).exists()


def test_status_and_down_where_nothing_is_up(bife, own_home):
    status = bife("status")
    assert status.exit_code == 1
    assert "BiFE is not up in" in status.stderr
    assert bife("down").stdout.startswith("BiFE is not up in")


def test_what_a_killed_start_left_behind_is_ended_by_its_mark(own_home, bife):
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
