"""Run a flow in this process, watched."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

import httpx
from prefect.client.orchestration import get_client
from prefect.exceptions import PrefectException
from prefect.settings import get_current_settings

from bife_core.errors import BifeError
from bife_core.store import StoreError
from bife_core.study.journal import stop_journals
from flows.operate.abandoned import cancel_own, close_abandoned
from flows.operate.embedded import start
from flows.reporting.conduct import require_room
from tasks.stores import Observer, home_store, observing
from tasks.tracking.subscriber import track_evolution

P = ParamSpec("P")
R = TypeVar("R")


def run(watcher: Observer | None, stage: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a flow such as `flows.pipeline.pipeline` with the other arguments; `watcher` is called as it goes."""
    require_room()  # the flow does so too, but then an API has been started for nothing, or could not be
    reach_prefect()
    with observing(watcher or Observer()):
        return stage(*args, **kwargs)


def reach_prefect() -> None:
    """Start the embedded API unless a server's address is set."""
    if not os.environ.get("PREFECT_API_URL"):
        start_embedded_api()


def start_embedded_api() -> None:
    """Start the embedded API and mark what runs of killed processes left in it."""
    # Two that meet a fresh database would break its migration.
    with home_store().claim("prefect", 300.0):
        start()
        with get_client(sync_client=True) as client:
            close_abandoned(client)


def report_interruption(reason: str) -> None:
    """Report to MLflow and Prefect why this process is being stopped; what cannot be reached is left as it is."""
    stopped: list[str] = []
    with suppress(OSError, StoreError):
        stopped = stop_journals(reason)
    if get_current_settings().api.url is not None:  # else the embedded API has not been started yet
        with suppress(httpx.HTTPError, PrefectException), get_client(sync_client=True) as client:
            cancel_own(client, reason)
    with suppress(BifeError):
        for study in stopped:
            track_evolution(study)
