"""Calls made in this process: for a notebook, a debugger, or a machine that cannot start others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Lock
from typing import Any

from bife_core.errors import BifeError
from bife_core.sandbox.calls import describe_exception, resolve
from bife_core.sandbox.failure import WorkerFailure


class InProcess:
    """Takes the place of a `WorkerPool`: one call at a time, here.

    Nothing can be killed at its limit, and nothing is confined: for rules one has read.
    """

    workers = 1

    def __init__(self) -> None:
        self._one_at_a_time = Lock()
        self._closed = False

    def submit(
        self,
        call: str,
        arguments: dict[str, Any],
        *,
        limit_s: float,
        memory_mb: float | None = None,
        reads: Iterable[Path] = (),
        writes: Iterable[Path] = (),
    ) -> Future[Any]:
        """Make one call and return the future of its result, which is there."""
        promised: Future[Any] = Future()
        if self._closed:
            raise WorkerFailure("closed", "These workers were closed; open others.")
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

    def submit_in_turn(
        self, call: str, arguments: Sequence[dict[str, Any]], *, limit_s: float, **allowed: Any
    ) -> list[Future[Any]]:
        """Make calls one right after the other."""
        return [self.submit(call, given, limit_s=limit_s, **allowed) for given in arguments]

    def close(self) -> None:
        """Make no more calls."""
        self._closed = True
