"""When a task is tried again."""

from __future__ import annotations

from typing import Any, Final

from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.tasks import Task

from bife_core.sandbox import WorkerFailure
from bife_core.store import StoreError


def is_infrastructure(task: Task[..., Any], run: TaskRun, state: State[Any]) -> bool:
    """Whether another try may help: the disk, the network or a worker failed, not the work itself."""
    error = state.data
    if isinstance(error, WorkerFailure):
        return error.kind == "died" or error.by_machine
    return isinstance(error, OSError | StoreError)


TRIED_AGAIN: Final[dict[str, Any]] = {
    "retries": 2,
    "retry_delay_seconds": [1.0, 5.0],
    "retry_condition_fn": is_infrastructure,
    # What was paid for is kept by us. Prefect would hash what a task is given, and where it cannot, as with a method of
    # a evaluator, write a stack trace into the log of the run.
    "cache_policy": NO_CACHE,
}
"""Options of tasks for which another try may help."""
