"""An accident that takes a worker costs time; a call that takes its worker twice costs itself."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from bife_core.sandbox import WorkerFailure, WorkerPool, submit_repeated
from tests.support.misbehaving import RUN, die, fail, hoard, text_of

CALL = "bife_core.sandbox.selftest:"


@pytest.fixture
def alone() -> Iterator[WorkerPool]:
    """A pool of one worker that nobody else uses."""
    with WorkerPool(1) as pool:
        yield pool


def test_a_call_whose_worker_is_killed_is_repeated_and_that_is_noted(alone: WorkerPool) -> None:
    notes: list[str] = []
    pid = alone.submit(CALL + "describe", {}, limit_s=60).result()["pid"]
    future = submit_repeated(alone, CALL + "pause", {"seconds": 0.5}, limit_s=60, note=notes.append)
    time.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    assert future.result(timeout=60) == 0.5
    assert len(notes) == 1
    assert "SIGKILL" in notes[0]
    assert notes[0].endswith("It is repeated.")


def test_a_call_that_takes_its_worker_twice_fails(alone: WorkerPool) -> None:
    notes: list[str] = []
    future = submit_repeated(alone, RUN, text_of(die), limit_s=60, note=notes.append)
    with pytest.raises(WorkerFailure, match="SIGKILL") as failure:
        future.result(timeout=60)
    assert failure.value.kind == "died"
    assert len(notes) == 1


@pytest.mark.parametrize(
    ("call", "arguments", "limit_s", "kind"),
    [(RUN, text_of(fail, message="no"), 60.0, "error"), (CALL + "pause", {"seconds": 60}, 0.3, "timeout")],
)
def test_what_a_call_does_by_itself_is_not_repeated(
    alone: WorkerPool, call: str, arguments: dict[str, object], limit_s: float, kind: str
) -> None:
    notes: list[str] = []
    future = submit_repeated(alone, call, arguments, limit_s=limit_s, note=notes.append)
    with pytest.raises(WorkerFailure) as failure:
        future.result(timeout=60)
    assert failure.value.kind == kind
    assert notes == []


def test_closing_the_pool_is_no_judgement_on_the_call() -> None:
    notes: list[str] = []
    pool = WorkerPool(1)
    pool.submit(CALL + "describe", {}, limit_s=60).result()
    running = submit_repeated(pool, CALL + "pause", {"seconds": 60}, limit_s=90, note=notes.append)
    queued = submit_repeated(pool, CALL + "echo", {"value": 1}, limit_s=90)
    time.sleep(0.2)
    pool.close()
    with pytest.raises(WorkerFailure) as failure:
        running.result(timeout=10)
    assert failure.value.kind == "closed"
    assert queued.cancelled()
    assert notes == []


def test_a_call_nobody_waits_for_any_more_can_be_cancelled(alone: WorkerPool) -> None:
    busy = alone.submit(CALL + "pause", {"seconds": 0.4}, limit_s=60)
    queued = submit_repeated(alone, CALL + "echo", {"value": 1}, limit_s=60)
    assert queued.cancel()
    assert busy.result() == 0.4
    assert alone.submit(CALL + "echo", {"value": 2}, limit_s=60).result() == 2
    assert queued.cancelled()


def test_a_worker_that_has_grown_fat_is_replaced_between_calls(alone: WorkerPool) -> None:
    def pid() -> int:
        return int(alone.submit(CALL + "describe", {}, limit_s=60).result()["pid"])

    first = pid()
    assert alone.submit(RUN, text_of(hoard, megabytes=100), limit_s=60).result() == 100
    assert pid() == first
    assert alone.submit(RUN, text_of(hoard, megabytes=1000), limit_s=60).result() == 1000
    assert pid() != first
