"""Runs whose process is gone: marked as crashed so that they can be retried; Prefect alone shows them as running."""

from __future__ import annotations

import math
import os
import socket
from typing import Any, Final

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import FlowRunFilter, TaskRunFilter
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.states import Cancelled, Crashed

from flows.operate import guard
from flows.reporting.conduct import own_process, report_end

GONE: Final = "The process of this run is gone. Retry goes on where it stopped: completed work is kept."

_OPEN: Final = {"state": {"type": {"any_": [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]}}}


def close_abandoned(client: SyncPrefectClient, worker_starts: bool = False) -> None:
    """Mark the open runs of this machine whose process is gone, and their open tasks.

    Where this machine's worker starts, what its predecessor submitted and never began is gone too.
    """
    for run in _open_runs(client):
        never_begun = worker_starts and run.labels.get("prefect.worker.name") == socket.gethostname()
        pid = None if run.state_type == StateType.PENDING else own_process(run)
        # A process that is younger than the state it should have reported has only inherited the number.
        running = run.state if run.state_type == StateType.RUNNING else None
        by_s = math.inf if running is None else running.timestamp.timestamp() + 1.0
        if never_begun if pid is None else not guard.runs(pid, by_s):
            _close(client, run)


def cancel_own(client: SyncPrefectClient, reason: str) -> None:
    """Mark the open flow runs of this process as cancelled."""
    for run in _open_runs(client):
        if own_process(run) == os.getpid():
            client.set_flow_run_state(run.id, Cancelled(message=reason), force=True)


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
    message = run.state.message if run.state is not None else None
    cancelled = run.state_type == StateType.CANCELLING
    state: State[Any] = Cancelled(message=message) if cancelled else Crashed(message=GONE)
    report_end(None, run, state)
    client.set_flow_run_state(run.id, state, force=True)
