"""Calls that survive the loss of their worker process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, Unpack

from bife_core.sandbox.failure import WorkerFailure
from bife_core.sandbox.workers import Allowed, Workers

REPEATS: Final = 1
"""How often a call is repeated whose process was lost: once is an accident, twice is the call's own doing."""

Note = Callable[[str], None]
"""Told, in a sentence, what a person should know; called from any thread."""


def submit_repeated(
    pool: Workers,
    call: str,
    arguments: dict[str, Any],
    *,
    note: Note | None = None,
    **allowed: Unpack[Allowed],
) -> Future[Any]:
    """Queue a call like `Workers.submit`, and once more if its process is lost without an answer.

    The system kills processes when memory is short, and an operator may kill the wrong one: neither should count
    against the call. A call that was stopped at its limit, or raised, is not repeated.

    Parameters
    ----------
    note : callable, optional
        Told of each repetition.
    **allowed
        Limits and files, as `Workers.submit` takes them.
    """
    promised: Future[Any] = Future()

    def send(repeats: int) -> None:
        answer = pool.submit(call, arguments, **allowed)
        promised.add_done_callback(lambda _: answer.cancel() if promised.cancelled() else None)
        answer.add_done_callback(partial(arrived, repeats))

    def arrived(repeats: int, answer: Future[Any]) -> None:
        failure = None if answer.cancelled() else answer.exception()
        lost = isinstance(failure, WorkerFailure) and failure.kind == "died"
        if lost and repeats and not promised.cancelled():
            if note is not None:
                note(f"{failure} It is repeated.")
            try:
                send(repeats - 1)
                return
            except WorkerFailure as closed:
                failure = closed
        if answer.cancelled():
            promised.cancel()
        if promised.set_running_or_notify_cancel():
            if failure is None:
                promised.set_result(answer.result())
            else:
                promised.set_exception(failure)

    send(REPEATS)
    return promised
