"""Runs whose process is gone: marked as crashed so that they can be retried; Prefect alone shows them as running."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Collection
from typing import Any, Final
from uuid import UUID

import psutil
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterId,
    FlowRunFilterParentFlowRunId,
    FlowRunFilterState,
    FlowRunFilterStateType,
    TaskRunFilter,
    TaskRunFilterState,
    TaskRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.states import Cancelled, Crashed

from flows.reporting.ownership import own_process
from flows.safeguards.endings import settle_accounts

GONE: Final = "The process of this run is gone. Retry goes on where it stopped: what was paid for is kept."
"""What a run is marked with when nobody was left to say how it ended."""

_OPEN: Final = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]
_logger = logging.getLogger("prefect.bife")


def close_abandoned(client: SyncPrefectClient, suspects: Collection[UUID] | None = None) -> set[UUID]:
    """Mark the open runs of this machine whose process is gone, with all that is open below them.

    Parameters
    ----------
    suspects : collection of UUID, optional
        Only these are marked: a worker gives a process the time between two looks to say how it ended.

    Returns
    -------
    set of UUID
        All that were found without a process, to be the next look's suspects.
    """
    runs = _open_runs(client)
    for run in runs:
        process, cancelling = _process(run), run.state_type == StateType.CANCELLING
        if process is not None and cancelling and run.deployment_id and not _is_ours(process):
            # Its worker was replaced; the new one does not know the process.
            process.terminate()
    gone = {run.id: run for run in runs if _is_gone(run)}
    for run_id, run in gone.items():
        if suspects is None or run_id in suspects:
            _crash(client, run)
    return set(gone)


def cancelling_here(client: SyncPrefectClient) -> bool:
    """Whether a run of this machine is just being cancelled: who does that knows best why its searches stop."""
    return any(
        run.state_type == StateType.CANCELLING and own_process(run) is not None for run in _open_runs(client)
    )


def cancel_own(client: SyncPrefectClient, reason: str) -> None:
    """Mark the open flow runs of this process as cancelled."""
    for run in _open_runs(client):
        if own_process(run) == os.getpid():
            client.set_flow_run_state(run.id, Cancelled(message=reason), force=True)


def _open_runs(client: SyncPrefectClient, parent: UUID | None = None) -> list[FlowRun]:
    below = None if parent is None else FlowRunFilterParentFlowRunId(any_=[parent])
    states = FlowRunFilterState(type=FlowRunFilterStateType(any_=_OPEN))
    chosen = FlowRunFilter(state=states, parent_flow_run_id=below)
    # The youngest first, so that nothing is open below a run by the time it is closed.
    return client.read_flow_runs(flow_run_filter=chosen, sort=FlowRunSort.EXPECTED_START_TIME_DESC)


def _crash(client: SyncPrefectClient, run: FlowRun) -> None:
    for child in _open_runs(client, parent=run.id):
        _crash(client, child)
    tasks = client.read_task_runs(
        flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run.id])),
        task_run_filter=TaskRunFilter(state=TaskRunFilterState(type=TaskRunFilterStateType(any_=_OPEN))),
    )
    for task in tasks:
        client.set_task_run_state(task.id, Crashed(message=GONE), force=True)
    cancelled = run.state_type == StateType.CANCELLING
    state: State[Any] = Cancelled(message=_asked_by(run)) if cancelled else Crashed(message=GONE)
    settle_accounts(None, run, state)
    client.set_flow_run_state(run.id, state, force=True)
    _logger.warning("Run %s: its process is gone", run.name)


def _is_gone(run: FlowRun) -> bool:
    """Whether a run of this machine is without a process."""
    # One that is tried again has still the process of its former try noted until it runs.
    if run.state_type != StateType.PENDING and own_process(run) is not None:
        return _process(run) is None
    # Not begun, and submitted by a worker of our name before we were there.
    if run.labels.get("prefect.worker.name") != socket.gethostname() or run.state is None:
        return False
    pid = run.infrastructure_pid or ""
    begun = pid.isdigit() and psutil.pid_exists(int(pid))
    return not begun and run.state.timestamp.timestamp() < psutil.Process().create_time()


def _asked_by(run: FlowRun) -> str:
    """Return what was said when a run was cancelled."""
    return (run.state.message if run.state is not None else None) or "Flow run was cancelled."


def _is_ours(process: psutil.Process) -> bool:
    return psutil.Process() in process.parents()


def _process(run: FlowRun) -> psutil.Process | None:
    """Return the living process of a run on this machine, or None."""
    pid = own_process(run)
    try:
        process = None if pid is None else psutil.Process(pid)
        # One that nobody has reaped still has its number.
        if process is None or process.status() == psutil.STATUS_ZOMBIE:
            return None
        # A process that is younger than the state it should have reported has only inherited the number.
        running = run.state if run.state_type == StateType.RUNNING else None
        if running is not None and process.create_time() > running.timestamp.timestamp() + 1.0:
            return None
    except psutil.NoSuchProcess:
        return None
    return process
