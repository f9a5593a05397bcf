"""The worker of `bife up`: registers the deployments, runs what is due, and finds runs whose process is gone."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from typing import Any, Final

import anyio
import anyio.abc
import httpx
import psutil
from prefect.client.orchestration import PrefectClient, SyncPrefectClient, get_client
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
from prefect.states import Cancelled, Crashed
from prefect.workers.process import ProcessJobConfiguration, ProcessWorker, ProcessWorkerResult

from bife_core.errors import BifeError
from flows.operate.deployments import WORK_POOL, register

GONE: Final = "The process of this run is gone. Retry goes on where it stopped: what was paid for is kept."
"""What a run is marked with when nobody was left to say how it ended."""

_LOOK_EVERY_S: Final = 3.0
_API_LIMIT_S: Final = 120.0
_OPEN: Final = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]

_logger = logging.getLogger("prefect.bife")


class RunWorker(ProcessWorker):
    """Prefect's process worker, which also notes on which machine a run's process is."""

    @classmethod
    def __dispatch_key__(cls) -> str:
        """Stand beside the worker it extends in Prefect's table of worker types, not in its place."""
        return "process-bife"

    async def run(
        self,
        flow_run: FlowRun,
        configuration: ProcessJobConfiguration,
        task_status: anyio.abc.TaskStatus[Any] | None = None,
    ) -> ProcessWorkerResult:
        """Run a flow in a process of its own and wait for its end."""
        status = _Located(task_status) if task_status is not None else None
        return await super().run(flow_run, configuration, status)


class _Located(anyio.abc.TaskStatus[Any]):
    """Passes a process id on as ``machine:id``."""

    def __init__(self, status: anyio.abc.TaskStatus[Any]) -> None:
        self._status = status

    def started(self, value: Any = None) -> None:
        self._status.started(f"{socket.gethostname()}:{value}")


class LostRuns:
    """Marks runs whose process is gone, so that they can be retried; Prefect alone would show them as running.

    A run counts as gone when two looks in a row find no process: its worker is given time to say how it ended.
    """

    def __init__(self, client: PrefectClient) -> None:
        self._client = client
        self._suspects: set[Any] = set()

    async def look(self) -> None:
        """Go through all open runs of this machine once."""
        states = FlowRunFilterState(type=FlowRunFilterStateType(any_=_OPEN))
        runs = await self._client.read_flow_runs(flow_run_filter=FlowRunFilter(state=states))
        gone = {run.id: run for run in runs if _process(run) is None and _is_local(run)}
        for run in runs:
            process = _process(run)
            if process is not None and run.state_type == StateType.CANCELLING and not _is_ours(process):
                # Its worker was replaced; the new one does not know the process.
                process.terminate()
        for run_id in gone.keys() & self._suspects:
            await self._crash(gone[run_id])
        self._suspects = set(gone)

    async def _crash(self, run: FlowRun) -> None:
        children = await self._client.read_flow_runs(
            flow_run_filter=FlowRunFilter(
                parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[run.id]),
                state=FlowRunFilterState(type=FlowRunFilterStateType(any_=_OPEN)),
            )
        )
        for child in children:
            await self._crash(child)
        tasks = await self._client.read_task_runs(
            flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run.id])),
            task_run_filter=TaskRunFilter(state=TaskRunFilterState(type=TaskRunFilterStateType(any_=_OPEN))),
        )
        for task in tasks:
            await self._client.set_task_run_state(task.id, Crashed(message=GONE), force=True)
        cancelled = run.state_type == StateType.CANCELLING
        state: State[Any] = Cancelled(message="Cancelled.") if cancelled else Crashed(message=GONE)
        await self._client.set_flow_run_state(run.id, state, force=True)
        _logger.warning("Run %s: its process is gone", run.name)


def _is_local(run: FlowRun) -> bool:
    machine, _, pid = (run.infrastructure_pid or "").rpartition(":")
    return machine == socket.gethostname() and pid.isdigit()


def _process(run: FlowRun) -> psutil.Process | None:
    """Return the living process of a run on this machine, or None."""
    if not _is_local(run):
        return None
    try:
        process = psutil.Process(int((run.infrastructure_pid or "").rpartition(":")[2]))
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        # A process that is younger than the state it should have reported has only inherited the number.
        running = run.state if run.state_type == StateType.RUNNING else None
        if running is not None and process.create_time() > running.timestamp.timestamp() + 1.0:
            return None
    except psutil.NoSuchProcess:
        return None
    return process


def _is_ours(process: psutil.Process) -> bool:
    return psutil.Process() in process.parents()


async def serve() -> None:
    """Run what is due until a signal ends this process; its runs report their own end."""
    async with get_client() as client, anyio.create_task_group() as services:
        lost = LostRuns(client)
        worker = RunWorker(work_pool_name=WORK_POOL, name=socket.gethostname())

        async def keep_looking() -> None:
            while True:
                try:
                    await lost.look()
                except httpx.HTTPError as error:
                    _logger.warning("Prefect's API could not be asked for open runs: %s", error)
                await anyio.sleep(_LOOK_EVERY_S)

        services.start_soon(keep_looking)
        await worker.start(with_healthcheck=True)


def _wait_for(client: SyncPrefectClient) -> None:
    """Wait until the API answers: it may be starting again for the same reason as we are."""
    deadline = time.monotonic() + _API_LIMIT_S
    while (trouble := client.api_healthcheck()) is not None:
        if time.monotonic() > deadline:
            raise BifeError(f"Prefect's API at {client.api_url} cannot be used: {trouble}.") from trouble
        time.sleep(1.0)


def main() -> None:
    """Run the worker of this machine."""
    with get_client(sync_client=True) as client:
        _wait_for(client)
        for note in register(client):
            _logger.warning(note)
    asyncio.run(serve())


if __name__ == "__main__":
    main()
