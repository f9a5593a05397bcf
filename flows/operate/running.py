"""Run a flow in this process, watched, and give Prefect's embedded API time to write down what happened."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final, ParamSpec, TypeVar

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.exceptions import PrefectException
from prefect.settings import get_current_settings

from bife_core.errors import BifeError
from bife_core.store import StoreError
from bife_core.study.journal import stop_journals
from flows.operate.abandoned import cancel_own, close_abandoned
from flows.operate.embedded import start
from flows.reporting.observer import Observer, observing
from flows.safeguards.conduct import require_room
from tasks.stores import home_store
from tasks.tracking import synchronise_open

P = ParamSpec("P")
R = TypeVar("R")

_OPEN_STATES: Final = ("SCHEDULED", "PENDING", "RUNNING")
_LONGER_S: Final = 0.2
"""Wall seconds between two looks at the embedded API, beyond those it waits before it writes task runs down."""
_API_START_LIMIT_S: Final = 300.0
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
    watcher = watcher or Observer()
    require_room()  # the flow does so too, but then an API has been started for nothing, or could not be
    if embedded:
        start_embedded_api()
    # What is imported by now stays; looking through all of it again takes the collector half a second each time.
    gc.freeze()
    with observing(watcher):
        try:
            result = stage(*args, **kwargs)
        except BifeError:
            if embedded:
                settle(began, _AFTER_FAILURE_S)
            raise
        if embedded:
            settle(began)
        return result


def start_embedded_api() -> None:
    """Start the embedded API and mark what runs of killed processes left in it.

    Raises
    ------
    ClaimTimeoutError
        If another process has been starting its own for minutes.
    ServerError
        If it does not start.
    """
    # Two that meet a fresh database would break its migration.
    with home_store().claim("prefect", _API_START_LIMIT_S):
        start()
        with get_client(sync_client=True) as client:
            close_abandoned(client)


def report_interruption(reason: str) -> None:
    """Have MLflow and Prefect know why this process is being stopped; what cannot be reached is left as it is.

    A later run with the same settings takes both up again.
    """
    with suppress(OSError, StoreError):
        stop_journals(reason)
    with suppress(httpx.HTTPError, PrefectException), get_client(sync_client=True) as client:
        cancel_own(client, reason)
    synchronise_open()


def settle(began: datetime, limit_s: float = SETTLE_LIMIT_S) -> bool:
    """Wait until the API holds all task runs of the flows begun since, and say whether it does.

    An API that cannot be asked any more holds what it holds; the flow's result must not be lost over it.
    """
    deadline = time.monotonic() + limit_s
    poll_s = get_current_settings().server.services.task_run_recorder.flush_interval + _LONGER_S
    before = -1
    try:
        with get_client(sync_client=True) as client:
            while time.monotonic() < deadline:
                known, unfinished = _count(client, began), _count(client, began, _OPEN_STATES)
                if unfinished == 0 and known == before:
                    return True
                before = known
                time.sleep(poll_s)
    except httpx.HTTPError:
        return False
    return False


def _count(client: SyncPrefectClient, began: datetime, states: tuple[str, ...] = ()) -> int:
    chosen: dict[str, Any] = {"flow_runs": {"start_time": {"after_": began.isoformat()}}}
    if states:
        chosen["task_runs"] = {"state": {"type": {"any_": list(states)}}}
    return int(client.request("POST", "/task_runs/count", json=chosen).json())
