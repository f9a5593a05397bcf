"""Slots for cores: held by one at a time, handed on fairly, released by the system when a holder dies."""

import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from bife_core.workers import CoreSlots, WorkerFailure, WorkerPool, usable_cores

CALL = "bife_core.workers.selftest:"
HOLDER = """
import pathlib, sys, time
from bife_core.workers import CoreSlots
with CoreSlots(pathlib.Path(sys.argv[1])).hold(int(sys.argv[2])) as core:
    print(core, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _slots_of_our_own(monkeypatch, tmp_path):
    monkeypatch.setenv("BIFE_CORE_SLOTS", str(tmp_path))


@pytest.fixture
def one_core(monkeypatch):
    """Let this process believe it has a single core."""
    core = usable_cores()[0]
    monkeypatch.setattr("bife_core.workers.cores.usable_cores", lambda: (core,))
    monkeypatch.setattr("bife_core.workers.pool.usable_cores", lambda: (core,))
    return core


def test_the_preferred_core_is_given_and_then_any_other(tmp_path, monkeypatch):
    monkeypatch.setattr("bife_core.workers.cores.usable_cores", lambda: (4, 5, 6))
    slots = CoreSlots(tmp_path)
    with slots.hold(5) as first, slots.hold(5) as second, CoreSlots(tmp_path).hold(5) as third:
        assert (first, second, third) == (5, 4, 6)
        with pytest.raises(WorkerFailure, match="waited for a core"), slots.hold(4, lambda: True):
            pass
    with slots.hold(6) as again:
        assert again == 6


def test_on_many_cores_each_holder_keeps_one_file_open_and_any_user_may_wait_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr("bife_core.workers.cores.usable_cores", lambda: tuple(range(128)))
    slots = CoreSlots(tmp_path)

    def files_open():  # others of this process come and go
        return sum(Path(file.path).parent == tmp_path for file in psutil.Process().open_files())

    with ExitStack() as held:
        umask = os.umask(0o077)
        held.callback(os.umask, umask)
        assert {held.enter_context(slots.hold(core % 8)) for core in range(128)} == set(range(128))
        assert files_open() == 128
        with pytest.raises(WorkerFailure, match="waited for a core"), slots.hold(0, lambda: True):
            pass
    assert files_open() == 0
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o666}


def test_a_holder_that_is_killed_holds_nothing(tmp_path, one_core):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path), str(one_core)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert int(holder.stdout.readline()) == one_core
        with (
            pytest.raises(WorkerFailure, match="waited for a core"),
            CoreSlots(tmp_path).hold(one_core, lambda: True),
        ):
            pass
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    with CoreSlots(tmp_path).hold(one_core, lambda: True) as core:
        assert core == one_core


def test_one_who_comes_back_at_once_lets_others_go_first(tmp_path, one_core):
    slots, turns = CoreSlots(tmp_path), []

    def work(name):
        for _ in range(6):
            with slots.hold(one_core):
                turns.append(name)
                time.sleep(0.03)

    workers = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(turns) == sorted("ab" * 6)
    # Neither is through before the other has had a turn.
    assert {"a", "b"} <= set(turns[:5])


def test_one_that_waits_for_a_core_holds_up_none_that_may_use_another(tmp_path, monkeypatch):
    may_use, waits = [(0,)], threading.Event()
    monkeypatch.setattr("bife_core.workers.cores.usable_cores", lambda: may_use[-1])

    def wait():
        with (
            pytest.raises(WorkerFailure, match="waited for a core"),
            CoreSlots(tmp_path).hold(0, lambda: waits.set() or bool(may_use[1:])),
        ):
            pass

    with CoreSlots(tmp_path).hold(0):
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert waits.wait(30)
        may_use.append((0, 1))
        with CoreSlots(tmp_path).hold(0, lambda: True) as core:
            assert core == 1
        waiting.join()


def test_calls_of_two_pools_never_share_a_core(one_core):
    with WorkerPool(1) as first, WorkerPool(1) as second:
        for pool in (first, second):
            pool.submit(f"{CALL}echo", {"value": 0}, limit_s=60).result()
        began_s = time.monotonic()
        pools = (first, first, second, second)
        calls = [pool.submit(f"{CALL}pause", {"seconds": 0.4}, limit_s=0.7) for pool in pools]
        assert [call.result() for call in calls] == [0.4] * 4  # the wait is not counted against the limit
        assert time.monotonic() - began_s >= 1.6


def test_a_worker_goes_where_a_core_is_free():
    slots = CoreSlots()
    with WorkerPool(1) as pool:
        for free in usable_cores()[-2:]:
            with ExitStack() as held:
                for core in usable_cores():
                    if core != free:
                        assert held.enter_context(slots.hold(core)) == core
                seen = pool.submit(f"{CALL}describe", {}, limit_s=60).result()
            assert seen["cores"] in ([free], [])  # none where the system knows no affinity


def test_a_closed_pool_does_not_wait_for_a_core(one_core):
    with CoreSlots().hold(one_core):
        pool = WorkerPool(1)
        waiting = pool.submit(f"{CALL}echo", {"value": 1}, limit_s=60)
        time.sleep(0.1)
        pool.close()
    with pytest.raises(WorkerFailure, match="waited for a core"):
        waiting.result(timeout=30)
