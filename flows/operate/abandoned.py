"""Which process a flow run belongs to, so that runs of a process that was killed are not taken for alive for ever."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import psutil
from prefect import Flow
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterState, FlowRunFilterStateType
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.states import Cancelled, Crashed

_PROCESS: Final = "bife-process"
_owning: ContextVar[bool] = ContextVar("owning", default=False)


@contextmanager
def owning() -> Iterator[None]:
    """Have flows that begin inside belong to this process; those a worker starts are the worker's to look after."""
    token = _owning.set(True)
    try:
        yield
    finally:
        _owning.reset(token)


def name_owner(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Tag a flow run that begins with its process; a hook for `on_running`.

    Prefect's own `tags` would tag the tasks too, each of which would then ask the API for a slot of every tag.
    """
    if _owning.get():
        with get_client(sync_client=True) as client:
            client.update_flow_run(flow_run.id, tags=[*flow_run.tags, process_tag(psutil.Process())])


def process_tag(process: psutil.Process) -> str:
    """Return the tag flow runs of a process carry; the time of its start tells it from a later one of its number."""
    return f"{_PROCESS}:{socket.gethostname()}:{process.pid}:{process.create_time():.0f}"


def close_abandoned(client: SyncPrefectClient) -> int:
    """Mark flow runs as crashed whose process on this machine is gone, and return how many there were."""
    abandoned = [flow_run for flow_run in _open_flow_runs(client) if any(map(_is_gone, flow_run.tags))]
    message = "The process ended before the run did; the same command goes on where it stopped."
    for flow_run in abandoned:
        client.set_flow_run_state(flow_run.id, Crashed(message=message), force=True)
    return len(abandoned)


def cancel_own(client: SyncPrefectClient, reason: str) -> None:
    """Mark the open flow runs of this process as cancelled."""
    mine = process_tag(psutil.Process())
    for flow_run in _open_flow_runs(client):
        if mine in flow_run.tags:
            client.set_flow_run_state(flow_run.id, Cancelled(message=reason), force=True)


def _open_flow_runs(client: SyncPrefectClient) -> list[FlowRun]:
    states = FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.PENDING, StateType.RUNNING]))
    return client.read_flow_runs(flow_run_filter=FlowRunFilter(state=states))


def _is_gone(tag: str) -> bool:
    parts = tag.split(":")
    if len(parts) != 4 or parts[:2] != [_PROCESS, socket.gethostname()]:
        return False
    try:
        process = psutil.Process(int(parts[2]))
        # One that nobody has reaped still has its number.
        return process_tag(process) != tag or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
