from __future__ import annotations

import asyncio
import threading
import time

import pytest

from bife_core.generators.wire import call_within


async def _value(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "done"


def test_the_result_comes_back() -> None:
    assert call_within(5.0, lambda: _value(0.01)) == "done"


def test_the_limit_holds_for_what_can_be_cancelled() -> None:
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        call_within(0.1, lambda: _value(30.0))
    assert time.monotonic() - start < 10.0


def test_the_limit_holds_for_what_cannot_be_cancelled() -> None:
    released = threading.Event()

    async def stuck() -> None:
        released.wait(30.0)

    start = time.monotonic()
    with pytest.raises(TimeoutError):
        call_within(0.1, stuck)
    assert time.monotonic() - start < 10.0
    released.set()


def test_exceptions_reach_the_caller() -> None:
    async def broken() -> None:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        call_within(5.0, broken)


def test_it_works_inside_a_running_event_loop() -> None:
    async def outer() -> str:
        return call_within(5.0, lambda: _value(0.01))

    assert asyncio.run(outer()) == "done"
