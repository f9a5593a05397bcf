"""A worker never outlives its parent, however the parent ends."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.misbehaving import RUN, gone, hold_lock, text_of

PAUSE = "bife_core.workers.selftest:pause"

PARENT = """
import sys, time, threading
from bife_core.workers import WorkerPool
pool = WorkerPool(2)
idle = pool.submit("bife_core.workers.selftest:describe", {}, limit_s=60).result()["pid"]
future = pool.submit(CALL, ARGUMENTS, limit_s=600)
pids = set()
while len(pids) < 1:
    pids = {worker.process.pid for worker in pool._shared.threads if worker.process}
time.sleep(0.3)
print(*pids, flush=True)
ENDING
"""


def start(temporary, call, arguments, ending):
    script = PARENT.replace("CALL", repr(call)).replace("ARGUMENTS", repr(arguments))
    words = [sys.executable, "-c", script.replace("ENDING", ending)]
    there = {**os.environ, "TMPDIR": str(temporary)}
    parent = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=there)
    with parent.stdout as output:
        return parent, [int(word) for word in output.readline().split()]


@pytest.mark.parametrize("busy", [(PAUSE, {"seconds": 600}), (RUN, text_of(hold_lock, seconds=600))])
def test_workers_die_when_the_parent_is_killed(tmp_path, busy):
    parent, pids = start(tmp_path, *busy, "time.sleep(600)")
    parent.kill()
    parent.wait()
    assert pids
    assert all(gone(pid, 10) for pid in pids)
    assert list(tmp_path.iterdir())  # until the next parent removes what this one left
    start(tmp_path, PAUSE, {"seconds": 600}, "sys.exit(0)")[0].wait(timeout=20)
    assert list(tmp_path.iterdir()) == []


INTERRUPTED = "\ntry:\n    with pool:\n        future.result()\nexcept KeyboardInterrupt:\n    sys.exit(7)"


@pytest.mark.parametrize(("ending", "code"), [("sys.exit(0)", 0), (INTERRUPTED, 7)])
def test_workers_die_when_the_parent_ends_without_closing_the_pool_or_is_interrupted(tmp_path, ending, code):
    parent, pids = start(tmp_path, PAUSE, {"seconds": 600}, ending)
    if code:
        time.sleep(0.3)
        parent.send_signal(signal.SIGINT)
    assert parent.wait(timeout=20) == code
    assert pids
    assert list(tmp_path.iterdir()) == []
    assert all(gone(pid, 10) for pid in pids)


def test_a_pool_nobody_holds_any_more_leaves_no_process(tmp_path):
    parent, pids = start(
        tmp_path, PAUSE, {"seconds": 600}, "del pool\nimport gc\ngc.collect()\ntime.sleep(600)"
    )
    try:
        assert all(gone(pid, 10) for pid in pids)
    finally:
        parent.kill()
        parent.wait()
