"""A hard wall-clock limit around one network call, however slowly its bytes arrive."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Final, TypeVar

T = TypeVar("T")

_GRACE_S: Final = 1.0


def call_within(limit_s: float, make: Callable[[], Awaitable[T]]) -> T:
    """Run the coroutine that `make` returns and wait for it for `limit_s` seconds at most.

    Timeouts of an HTTP client restart with every byte; this one does not. The coroutine runs in an event loop
    of its own on a thread of its own, so callers may be inside an event loop themselves. It is cancelled at
    the limit, and a thread that is stuck in something that cannot be cancelled (such as a name server that
    does not answer) is left behind one second later.

    Parameters
    ----------
    limit_s : float
        Seconds of wall time.
    make : callable
        Called once on the new thread.

    Raises
    ------
    TimeoutError
        If the limit was reached. Whatever the coroutine raises is raised here too.
    """
    outcome: Future[T] = Future()

    async def limited() -> T:
        async with asyncio.timeout(limit_s):
            return await make()

    def run() -> None:
        try:
            result = asyncio.run(limited())
        except BaseException as error:  # noqa: BLE001 - handed to the caller, who raises it
            outcome.set_exception(error)
        else:
            outcome.set_result(result)

    threading.Thread(target=run, name="bife-model-call", daemon=True).start()
    return outcome.result(timeout=limit_s + _GRACE_S)
