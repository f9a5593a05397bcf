"""When a task is tried again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypedDict

from prefect.client.schemas.objects import State, TaskRun
from prefect.tasks import Task

from bife_core.sandbox import WorkerFailure

RETRIES: Final = 2
RETRY_DELAYS_S: Final[list[float]] = [1.0, 5.0]


class TriedAgain(TypedDict):
    """Options of tasks for which another try may help."""

    retries: int
    retry_delay_seconds: list[float]
    retry_condition_fn: Callable[[Task[..., Any], TaskRun, State[Any]], bool]


def is_infrastructure(task: Task[..., Any], run: TaskRun, state: State[Any]) -> bool:
    """Whether another try may help: the disk, the network or a worker failed, not the work itself."""
    error = state.data
    if isinstance(error, WorkerFailure):
        return error.kind == "died" or error.by_machine
    return isinstance(error, OSError)


TRIED_AGAIN: Final[TriedAgain] = {
    "retries": RETRIES,
    "retry_delay_seconds": RETRY_DELAYS_S,
    "retry_condition_fn": is_infrastructure,
}
