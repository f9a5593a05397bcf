"""Calls that survive the loss of their worker process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final

from bife_core.sandbox.failure import WorkerFailure
from bife_core.sandbox.pool import WorkerPool

REPEATS: Final = 1
"""How often a call is repeated whose process was lost: once is an accident, twice is the call's own doing."""

Note = Callable[[str], None]
"""Told, in a sentence, what a person should know; called from any thread."""


def submit_repeated(
    pool: WorkerPool, call: str, arguments: dict[str, Any], *, limit_s: float, note: Note | None = None
) -> Future[Any]:
    """Queue a call like `WorkerPool.submit`, and once more if its process is lost without an answer.

    The system kills processes when memory is short, and an operator may kill the wrong one: neither should count
    against the call. A call that was stopped at its limit, or raised, is not repeated.

    Parameters
    ----------
    note : callable, optional
        Told of each repetition.
    """
    promised: Future[Any] = Future()

    def send(repeats: int) -> None:
        def arrived(answer: Future[Any]) -> None:
            if answer.cancelled():
                if promised.cancel():
                    promised.set_running_or_notify_cancel()
                return
            failure = answer.exception()
            if failure is None:
                promised.set_result(answer.result())
            elif isinstance(failure, WorkerFailure) and failure.kind == "died" and repeats > 0:
                if note is not None:
                    note(f"{failure} It is repeated.")
                try:
                    send(repeats - 1)
                except WorkerFailure as closed:
                    promised.set_exception(closed)
            else:
                promised.set_exception(failure)

        pool.submit(call, arguments, limit_s=limit_s).add_done_callback(arrived)

    send(REPEATS)
    return promised
