"""Which process a flow run is in, as Prefect keeps it: how a run whose process is gone is told from one that runs."""

from __future__ import annotations

import os
import socket
from typing import Any

from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State


def located(pid: int) -> str:
    """Return how a run notes a process of this machine: as ``machine:id``."""
    return f"{socket.gethostname()}:{pid}"


def name_owner(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Note which process a flow run that begins is in; a hook for `on_running`."""
    with get_client(sync_client=True) as client:
        client.update_flow_run(flow_run.id, infrastructure_pid=located(os.getpid()))
