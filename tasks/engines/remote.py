"""What runs on an engine's machine: calls in a killable worker there, with the files they read and write."""

from __future__ import annotations

import atexit
import socket
import threading
from functools import cache
from typing import Any

from bife_core.sandbox import WorkerFailure, WorkerPool
from tasks.engines.packing import arrive, arrive_allowed, depart

_opening = threading.Lock()


def perform(
    call: str, arguments: list[dict[str, Any]], allowed: dict[str, Any], root: str
) -> list[dict[str, Any] | WorkerFailure]:
    """Make calls one right after the other in one worker of this machine, and return their answers.

    Parameters
    ----------
    allowed : dict
        Limits of each call, and where it may read and write, as `WorkerPool.submit` takes them.
    root : str
        Storage all machines reach, where `tasks.storage` put the files the arguments name; empty for a file
        system they share.

    Returns
    -------
    list of dict or WorkerFailure
        ``{"result": ..., "files": [...]}`` with the keys of written files, or why there is no result.
    """
    try:
        local = [arrive(each, root) for each in arguments]
        futures = _workers().submit_in_turn(call, local, **arrive_allowed(allowed, root))
    except (OSError, WorkerFailure) as error:
        return [_failure(error)] * len(arguments)
    answers: list[dict[str, Any] | WorkerFailure] = []
    for given, mine, future in zip(arguments, local, futures, strict=True):
        try:
            answers.append({"result": future.result(), "files": depart(given, mine, root)})
        except (OSError, WorkerFailure) as error:
            answers.append(_failure(error))
    return answers


def _workers() -> WorkerPool:
    """Return the pool that all calls to this process share."""
    with _opening:
        return _pool()


@cache
def _pool() -> WorkerPool:
    pool = WorkerPool()
    atexit.register(pool.close)
    return pool


def _failure(error: OSError | WorkerFailure) -> WorkerFailure:
    if isinstance(error, WorkerFailure):
        return error
    reason = f"{socket.gethostname()} could not reach its files: {error}."
    return WorkerFailure("died", reason, by_machine=True)
