"""What a run says about itself on Prefect's pages: sentences for people, in place of "All states completed"."""

from __future__ import annotations

import logging
from typing import Any, Final, TypeVar, cast

from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import FlowRunContext, TaskRunContext
from prefect.states import Completed
from prefect.tasks import Task

from bife_core.errors import BifeError
from bife_core.sandbox import WorkerFailure
from bife_core.store import StoreError

R = TypeVar("R")

NOTHING_TO_DO: Final = "Nothing to do"
"""Name of the state of a run that found all results stored already."""


def with_message(result: R, message: str, name: str | None = None) -> R:
    """Return a result in such a way that the page of its run shows a message; outside a run, return it as it is.

    A task that does so must be submitted: Prefect gives the result to the caller of a future's `result` or of a flow,
    but the state itself to the caller of a task. `name` names the state, which is "Completed" otherwise.
    """
    if TaskRunContext.get() is None and FlowRunContext.get() is None:
        return result
    return cast(R, Completed(name=name, message=message, data=result))


def _without_stack(record: logging.LogRecord) -> bool:
    """Leave the stack out of the log of an error that was made on purpose, whose sentence says all."""
    if isinstance(record.exc_info, tuple) and isinstance(record.exc_info[1], BifeError):
        record.exc_info = record.exc_text = None
    return True


for _name in ("prefect.task_runs", "prefect.flow_runs"):
    logging.getLogger(_name).addFilter(_without_stack)


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
    # Results are in the store. Prefect would hash what a task is given, and where it cannot, as with a method of an
    # evaluator, write a stack trace into the log of the run.
    "cache_policy": NO_CACHE,
}
"""Options of tasks for which another try may help."""
