"""Which process a flow run is in, as Prefect keeps it: how a run whose process is gone is told from one that runs."""

from __future__ import annotations

import os
import socket
from typing import Any, Final

from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State

_MACHINE: Final = "bife.machine"
_PROCESS: Final = "bife.pid"


def name_owner(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Note, as labels, which process of which machine a flow run that begins is in; a hook for `on_running`.

    Prefect's own note of a process is its worker's, knows no machine, and is not there for a run of a terminal.
    """
    with get_client(sync_client=True) as client:
        client.update_flow_run_labels(flow_run.id, {_MACHINE: socket.gethostname(), _PROCESS: os.getpid()})


def own_process(flow_run: FlowRun) -> int | None:
    """Return the process id a run of this machine has noted; None for any other run."""
    pid = flow_run.labels.get(_PROCESS)
    here = flow_run.labels.get(_MACHINE) == socket.gethostname()
    return pid if here and isinstance(pid, int) else None
