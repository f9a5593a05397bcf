"""Calls made in this process: for a notebook, a debugger, or a machine that cannot start others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Any, Unpack

from bife_core.errors import BifeError
from bife_core.sandbox.calls import describe_exception, resolve
from bife_core.sandbox.failure import WorkerFailure
from bife_core.sandbox.workers import Allowed, Workers


class InProcess(Workers):
    """Takes the place of a `WorkerPool`: one call at a time, here.

    Nothing can be killed at its limit, and nothing is confined: for rules one has read.
    """

    workers = 1

    def __init__(self) -> None:
        self._one_at_a_time = Lock()
        self._closed = False

    def submit_batch(
        self, call: str, arguments: Sequence[dict[str, Any]], **allowed: Unpack[Allowed]
    ) -> list[Future[Any]]:
        """Make calls one right after the other; their results are there."""
        if self._closed:
            raise WorkerFailure("closed", "These workers were closed; open others.")
        return [self._made(call, given) for given in arguments]

    def close(self) -> None:
        """Make no more calls."""
        self._closed = True

    def _made(self, call: str, arguments: dict[str, Any]) -> Future[Any]:
        promised: Future[Any] = Future()
        try:
            with self._one_at_a_time:
                # By way of JSON, as to another process: what works here works there.
                result = json.loads(json.dumps(resolve(call)(**json.loads(json.dumps(arguments)))))
        except Exception as error:  # noqa: BLE001 - a worker process would tell of any too
            reason, detail = describe_exception(error)
            by_machine = isinstance(error, OSError | MemoryError) and not isinstance(error, BifeError)
            promised.set_exception(
                WorkerFailure("error", reason, detail, type(error).__name__, by_machine=by_machine)
            )
        else:
            promised.set_result(result)
        return promised
