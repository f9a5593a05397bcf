"""Worker pools with real processes: every way a call can end, and what is left behind."""

import os
import pickle
import signal
import time
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from bife_core.base.errors import BifeError
from bife_core.workers import WorkerFailure, WorkerPool, usable_cores
from bife_core.workers.process import cpu_seconds
from tests.support.misbehaving import (
    RUN,
    burn,
    die,
    fail,
    gone,
    hoard,
    leave,
    shout,
    spawn_and_hang,
    text_of,
    unserialisable,
)

CALL = "bife_core.workers.selftest:"


def failure_of(pool, what, limit_s=20.0, **arguments):
    """Return how a call ends: of a function of the self-test by its name, or of one that misbehaves."""
    known = isinstance(what, str)
    call, given = (CALL + what, arguments) if known else (RUN, text_of(what, **arguments))
    with pytest.raises(WorkerFailure) as caught:
        pool.submit(call, given, limit_s=limit_s).result()
    return caught.value


def pid_of(pool):
    """Return the process of the pool's worker."""
    return pool.submit(CALL + "describe", {}, limit_s=60).result()["pid"]


def test_a_call_that_hangs_is_killed_at_its_limit_and_the_worker_replaced(pool):
    before, start = pid_of(pool), time.monotonic()
    failure = failure_of(pool, "pause", limit_s=0.3, seconds=600)
    assert failure.kind == "timeout"
    assert str(failure) == "bife_core.workers.selftest:pause was stopped at its limit of 0.3 s."
    assert 0.3 <= time.monotonic() - start < 20.0
    assert gone(before)
    assert pid_of(pool) != before


def test_time_that_others_took_from_a_call_does_not_count(pool):
    before = cpu_seconds(pid := pid_of(pool))
    call = pool.submit(RUN, text_of(burn, seconds=0.6), limit_s=1.0)
    while cpu_seconds(pid) < before + 0.3:
        time.sleep(0.01)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(1.2)
    os.kill(pid, signal.SIGCONT)
    assert call.result() >= 0.6


def test_a_call_that_never_ends_has_its_limit_of_processor_time_and_no_more(pool):
    before, spent = cpu_seconds(pid := pid_of(pool)), 0.0
    call = pool.submit(RUN, text_of(burn, seconds=600), limit_s=0.5)
    while not call.done():
        spent = max(spent, cpu_seconds(pid) - before)
        time.sleep(0.02)
    with pytest.raises(WorkerFailure, match="stopped at its limit"):
        call.result()
    assert 0.3 < spent < 1.0


def test_an_early_exit_is_reported_with_the_last_output(pool):
    assert pool.submit(RUN, text_of(shout, megabytes=8), limit_s=60).result() == 8
    failure = failure_of(pool, leave, code=3)
    assert failure.kind == "died"
    assert "ended with exit code 3" in str(failure)
    assert not failure.by_machine
    assert len(failure.detail) <= 4000
    assert failure.detail.endswith("leaving early")
    assert pool.submit(CALL + "echo", {"value": 1}, limit_s=20).result() == 1


def test_a_call_that_reaches_its_workers_own_limit_first_is_overdue_too(pool):
    failure = failure_of(pool, die, by="SIGXCPU", limit_s=20)
    assert failure.kind == "timeout"
    assert str(failure) == f"{RUN} was stopped at its limit of 20 s."


@pytest.mark.parametrize("own_session", [False, True])
def test_processes_a_call_started_die_with_it(tmp_path, own_session):
    note = tmp_path / "pid"
    # Where the kernel filters system calls there is nothing to kill: no process can be started at all.
    with WorkerPool(1, measures=("limits", "network")) as pool:
        arguments = {"pid_file": str(note), "own_session": own_session}
        assert failure_of(pool, spawn_and_hang, limit_s=2.5, **arguments).kind == "timeout"
        assert gone(int(note.read_text()))


def test_an_exception_becomes_a_sentence_and_the_worker_lives_on(pool):
    before = pid_of(pool)
    failure = failure_of(pool, fail, message="two\nlines")
    assert (failure.kind, str(failure)) == ("error", "ValueError: two lines")
    assert (failure.error_type, "<unchecked>" in failure.detail) == ("ValueError", True)
    failure = failure_of(pool, fail, message="Give a better rule.", known=True)
    assert (str(failure), failure.error_type) == ("Give a better rule.", "RuleError"), "its own sentence"
    assert "JSON" in str(failure_of(pool, unserialisable))
    assert pid_of(pool) == before


@pytest.mark.parametrize(
    "call",
    [
        "os:getcwd",
        "bife_core.workers.selftest:_private",
        "bife_core.workers.selftest:echo.__class__",
        "bife_core_evil.x:y",
    ],
)
def test_other_calls_are_refused_before_they_are_sent(pool, call):
    with pytest.raises(WorkerFailure, match="worker runs only"):
        pool.submit(call, {}, limit_s=1)


def test_arguments_must_be_json(pool):
    with pytest.raises(WorkerFailure, match="plain JSON"):
        pool.submit(CALL + "echo", {"value": {1, 2}}, limit_s=1)


def test_close_stops_running_and_queued_calls_and_leaves_no_process():
    pool = WorkerPool(2)
    pids = {pid_of(pool) for _ in range(2)}
    running_calls = [pool.submit(CALL + "pause", {"seconds": 600}, limit_s=600) for _ in range(2)]
    queued = pool.submit(CALL + "pause", {"seconds": 600}, limit_s=600)
    time.sleep(0.5)
    start = time.monotonic()
    pool.close()
    assert time.monotonic() - start < 20.0
    for future in running_calls:
        with pytest.raises(WorkerFailure, match="pool was closed"):
            future.result()
    with pytest.raises((CancelledError, WorkerFailure)):
        queued.result()
    assert all(gone(pid) for pid in pids)
    with pytest.raises(WorkerFailure, match="pool is closed"):
        pool.submit(CALL + "echo", {"value": 1}, limit_s=1)
    pool.close()


def test_temporary_files_go_with_the_worker():
    with WorkerPool(1) as pool:
        temporary = Path(pool.submit(CALL + "describe", {}, limit_s=20).result()["environment"]["TMPDIR"])
        assert temporary.is_dir()
    assert not temporary.exists()


def descriptors():
    """Count what stays open: other pools' threads open files for a moment."""
    counts = []
    for _ in range(10):
        counts.append(len(list(Path("/dev/fd").iterdir())))
        time.sleep(0.02)
    return min(counts)


def test_no_descriptor_leaks_over_many_workers(pool):
    failure_of(pool, die)
    before = descriptors()
    for _ in range(3):
        failure_of(pool, die)
    assert descriptors() <= before + 1


def test_workers_are_pinned_round_robin_to_the_cores_of_the_parent():
    cores = usable_cores()
    with WorkerPool(2) as pool:
        calls = [pool.submit(RUN, text_of(burn, seconds=0.2), limit_s=20) for _ in range(2)]
        calls += [pool.submit(CALL + "describe", {}, limit_s=20) for _ in range(6)]
        seen = {tuple(call.result()["cores"]) for call in calls[2:]}
    if hasattr(os, "sched_getaffinity"):
        assert seen <= {(cores[0],), (cores[1 % len(cores)],)}
    assert len(cores) >= 1


def test_a_failure_survives_pickling():
    failure = WorkerFailure("died", "Gone.", "tail", "", by_machine=True)
    again = pickle.loads(pickle.dumps(failure))
    assert (again.kind, str(again), again.detail, again.by_machine) == ("died", "Gone.", "tail", True)
    assert isinstance(again, BifeError)


def test_calls_in_turn_are_made_by_one_worker_in_order_whatever_becomes_of_them():
    with WorkerPool(2) as pool:
        groups = [pool.submit_batch(CALL + "describe", [{}, {}, {}], limit_s=20) for _ in range(4)]
        for group in groups:
            assert len({future.result()["pid"] for future in group}) == 1
        first, second, third = pool.submit_batch(
            RUN, [text_of(fail, message="one"), {"nonsense": 1}, text_of(fail, message="three")], limit_s=20
        )
        assert "one" in str(first.exception())
        assert second.exception().kind == "error"
        assert "three" in str(third.exception())


def test_the_next_call_in_turn_survives_the_death_of_the_worker(pool):
    slow, quick = pool.submit_batch(CALL + "pause", [{"seconds": 60}, {"seconds": 0}], limit_s=0.5)
    assert slow.exception().kind == "timeout"
    assert quick.result() == 0


def test_closing_cancels_what_is_still_to_come_in_turn():
    pool = WorkerPool(1)
    running_now, waiting = pool.submit_batch(CALL + "pause", [{"seconds": 60}] * 2, limit_s=90)
    while not running_now.running():
        time.sleep(0.01)
    pool.close()
    assert isinstance(running_now.exception(), WorkerFailure)
    assert waiting.cancelled()


def test_a_call_whose_worker_is_killed_is_repeated_and_that_is_noted(pool):
    notes = []
    pid = pid_of(pool)
    future = pool.submit(CALL + "pause", {"seconds": 0.5}, limit_s=60, note=notes.append)
    time.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    assert future.result(timeout=60) == 0.5
    assert len(notes) == 1
    assert "SIGKILL" in notes[0]
    assert notes[0].endswith("It is repeated.")


@pytest.mark.parametrize(
    ("call", "arguments", "limit_s", "kind", "repeats"),
    [
        (RUN, text_of(die), 60.0, "died", 1),
        (RUN, text_of(fail, message="no"), 60.0, "error", 0),
        (CALL + "pause", {"seconds": 60}, 0.3, "timeout", 0),
    ],
)
def test_what_a_call_does_by_itself_costs_itself(pool, call, arguments, limit_s, kind, repeats):
    notes = []
    with pytest.raises(WorkerFailure) as failure:
        pool.submit(call, arguments, limit_s=limit_s, note=notes.append).result(timeout=60)
    assert (failure.value.kind, failure.value.by_machine) == (kind, kind == "died")
    assert len(notes) == repeats


def test_a_queued_call_can_be_cancelled(pool):
    busy = pool.submit(CALL + "pause", {"seconds": 0.4}, limit_s=60)
    queued = pool.submit(CALL + "echo", {"value": 1}, limit_s=60)
    assert queued.cancel()
    assert busy.result() == 0.4
    assert pool.submit(CALL + "echo", {"value": 2}, limit_s=60).result() == 2


def test_a_worker_that_has_grown_fat_is_replaced_between_calls(pool):
    first = pid_of(pool)
    assert pool.submit(RUN, text_of(hoard, megabytes=100), limit_s=60).result() == 100
    assert pid_of(pool) == first
    assert pool.submit(RUN, text_of(hoard, megabytes=1000), limit_s=60).result() == 1000
    assert pid_of(pool) != first
