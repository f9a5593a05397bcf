"""Flows run in this process with an API of Prefect's; runs whose process is gone are marked, so as to be retried."""

from __future__ import annotations

import atexit
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from typing import Any, Final

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, TaskRunFilter
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.context import refresh_global_settings_context
from prefect.exceptions import ObjectNotFound, PrefectException
from prefect.settings import get_current_settings
from prefect.states import Cancelled, Crashed

from bife_core.base.errors import BifeError, StoreError
from bife_core.run.observer import Observer
from bife_core.run.study.journal import stop_journals
from bife_core.store.home import project_home
from bife_flows.operate.servers import LOOPBACK, UVICORN, Server, current, free_port, link_to_pages
from bife_flows.reporting.conduct import gone, own_process, report_end, require_room
from bife_tasks.stores import home_store, observing, tracker

GONE: Final = "The process of this run is gone. Retry goes on where it stopped: completed work is kept."

_OPEN: Final = {"state": {"type": {"any_": [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]}}}

_CANCELLED: Final = {StateType.CANCELLING, StateType.CANCELLED}


@contextmanager
def ready(observer: Observer | None = None, flows: str = __name__) -> Iterator[None]:
    """Load a module of flows and make Prefect ready for those that a context runs, which call `observer` as they go."""
    link_to_pages(current(project_home()))
    project_home().require_room()  # the flow does so too, but the API could not be started

    def load() -> None:
        require_room()
        import_module(flows)

    reach_prefect(load)
    with observing(observer or Observer()):
        yield


def reach_prefect(meanwhile: Callable[[], object] = lambda: None) -> None:
    """Unless a server's address is set, start the embedded API and mark what runs of killed processes left in it.

    While the API starts, which takes seconds, this process does something else `meanwhile`.
    """
    if os.environ.get("PREFECT_API_URL"):
        meanwhile()
        return
    # Two that meet a fresh database would break its migration.
    with home_store().claim("the start of Prefect's API", 300.0):
        _launched()
        meanwhile()
        start_embedded_api()
        with get_client(sync_client=True) as client:
            close_abandoned(client)


@cache
def start_embedded_api() -> None:
    """Start Prefect's API for this process alone and have all of Prefect in it use it; done once.

    Prefect's own ephemeral mode leaves its server behind when the process is killed, and Ctrl-C in a terminal ends that
    server before the run can report its end.
    """
    server, address = _launched()
    try:
        server.wait_ready()
    except BifeError:
        server.stop()
        _launched.cache_clear()  # so that another try starts another one
        raise
    # The variable itself stays unset: it says that the server is one of the user's.
    os.environ["PREFECT_API_URL"] = address
    try:
        refresh_global_settings_context()
    finally:
        del os.environ["PREFECT_API_URL"]


@cache
def _launched() -> tuple[Server, str]:
    """Return the embedded API, which may not answer yet, and its address."""
    port = free_port(0)
    address = f"http://{LOOPBACK}:{port}/api"
    environment = {
        # Storing events, streaming them and trying them on automations is half of what a task costs the API.
        "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",
        "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
        "PREFECT_SERVER_EVENTS_STREAM_OUT_ENABLED": "false",
        **get_current_settings().to_environment_variables(exclude_unset=True),
    }
    command = [*UVICORN, "bife_flows.operate.pages:api", "--log-level", "error", "--lifespan", "on"]
    command += ["--host", LOOPBACK, "--port", str(port)]
    log = project_home().root / "logs" / "prefect-embedded.log"
    server = Server("Prefect's embedded API", command, environment, f"{address}/health", log)
    atexit.register(server.stop)
    return server, address


def report_interruption(reason: str) -> None:
    """Report to the tracker and Prefect why this process is being stopped; what cannot be reached is left as it is."""
    stopped: list[str] = []
    with suppress(OSError, StoreError):
        stopped = stop_journals(reason)
    if get_current_settings().api.url is not None:  # else the embedded API has not been started yet
        with suppress(httpx.HTTPError, PrefectException), get_client(sync_client=True) as client:
            for run in _open_runs(client):
                if own_process(run) == os.getpid():
                    client.set_flow_run_state(run.id, Cancelled(message=reason), force=True)
    with suppress(BifeError):
        for study in stopped:
            tracker().follow(study)


def close_abandoned(client: SyncPrefectClient, worker_starts: bool = False) -> None:
    """Mark open runs here whose process is gone, or that this machine's worker, if it starts, never began."""
    for run in _open_runs(client):
        never_begun = worker_starts and run.labels.get("prefect.worker.name") == socket.gethostname()
        lost = None if run.state_type == StateType.PENDING else gone(run)
        if never_begun if lost is None else lost:
            with _unless_deleted():
                _close(client, run)


@contextmanager
def _unless_deleted() -> Iterator[None]:
    # A run that is deleted meanwhile, or one above it, keeps no other run open.
    try:
        yield
    except ObjectNotFound:
        return
    except httpx.HTTPStatusError as error:
        if error.response.status_code != httpx.codes.NOT_FOUND:
            raise


def _open_runs(client: SyncPrefectClient) -> list[FlowRun]:
    # The youngest first, so that nothing is open below a run by the time it is closed.
    order = FlowRunSort.EXPECTED_START_TIME_DESC
    return client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(_OPEN), sort=order)


def _close(client: SyncPrefectClient, run: FlowRun) -> None:
    tasks = client.read_task_runs(
        flow_run_filter=FlowRunFilter.model_validate({"id": {"any_": [run.id]}}),
        task_run_filter=TaskRunFilter.model_validate(_OPEN),
    )
    for task in tasks:
        client.set_task_run_state(task.id, Crashed(message=GONE), force=True)
    states = (each.state for each in _with_parents(client, run))
    cancelled = next((of for of in states if of and of.type in _CANCELLED), None)
    state: State[Any] = Cancelled(message=cancelled.message) if cancelled else Crashed(message=GONE)
    report_end(None, run, state)
    client.set_flow_run_state(run.id, state, force=True)


def _with_parents(client: SyncPrefectClient, run: FlowRun) -> Iterator[FlowRun]:
    # Prefect cancels a run by ending its process; what that ran as a part of it still says Running.
    yield run
    while (task := run.parent_task_run_id) and (parent := client.read_task_run(task).flow_run_id):
        yield (run := client.read_flow_run(parent))
