"""Run a flow in this process, watched, and give Prefect's embedded API time to write down what happened."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, ParamSpec, TypeVar

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client

from bife_core.errors import BifeError
from flows.observer import Observer, SilentObserver, observing

P = ParamSpec("P")
R = TypeVar("R")

_OPEN_STATES: Final = ("SCHEDULED", "PENDING", "RUNNING")
_POLL_S: Final = 0.5
_AFTER_FAILURE_S: Final = 3.0
SETTLE_LIMIT_S: Final = 15.0
"""Wall seconds spent at most on waiting for the embedded API."""


def run(watcher: Observer | None, stage: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a flow and tell `watcher` what happens.

    The embedded API lives as long as this process and writes task runs down with a delay: without waiting,
    the last ones would be missing from Prefect's pages. Results do not depend on it.

    Parameters
    ----------
    watcher : Observer or None
        None runs in silence.
    stage : callable
        A flow, such as `flows.pipeline.pipeline`, called with the other arguments.

    Raises
    ------
    BifeError
        Whatever the flow raises.
    """
    began = datetime.now(UTC) - timedelta(seconds=1)
    embedded = not os.environ.get("PREFECT_API_URL")
    with observing(watcher or SilentObserver()):
        try:
            result = stage(*args, **kwargs)
        except BifeError:
            if embedded:
                settle(began, _AFTER_FAILURE_S)
            raise
        if embedded:
            settle(began)
        return result


def settle(began: datetime, limit_s: float = SETTLE_LIMIT_S) -> bool:
    """Wait until the API holds all task runs of the flows begun since, and say whether it does.

    An API that cannot be asked any more holds what it holds; the flow's result must not be lost over it.
    """
    deadline = time.monotonic() + limit_s
    before = -1
    try:
        with get_client(sync_client=True) as client:
            while time.monotonic() < deadline:
                known, unfinished = _count(client, began), _count(client, began, _OPEN_STATES)
                if unfinished == 0 and known == before:
                    return True
                before = known
                time.sleep(_POLL_S)
    except httpx.HTTPError:
        return False
    return False


def _count(client: SyncPrefectClient, began: datetime, states: tuple[str, ...] = ()) -> int:
    chosen: dict[str, Any] = {"flow_runs": {"start_time": {"after_": began.isoformat()}}}
    if states:
        chosen["task_runs"] = {"state": {"type": {"any_": list(states)}}}
    return int(client.request("POST", "/task_runs/count", json=chosen).json())
