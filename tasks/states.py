"""What a run says about itself on Prefect's pages: sentences for people, in place of "All states completed"."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, ParamSpec, TypeVar, cast
from uuid import UUID

import httpx
from prefect import runtime
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import FlowRunContext, TaskRunContext
from prefect.exceptions import PrefectException
from prefect.states import Completed, Failed, Running
from prefect.tasks import Task

from bife_core.errors import BifeError
from bife_core.sandbox import WorkerFailure
from bife_core.store import StoreError

P = ParamSpec("P")
R = TypeVar("R")

NOTHING_TO_DO: Final = "Nothing to do"
"""Name of the state of a run that found all results stored already."""

WAITING: Final = "Waiting"
"""Name of the state of a run that goes on once something else is done; its message says what."""


def with_message(result: R, message: str, name: str | None = None) -> R:
    """Return a result in such a way that the page of its run shows a message; outside a run, return it as it is.

    A task that does so must be submitted: Prefect gives the result to the caller of a future's `result` or of a flow,
    but the state itself to the caller of a task.

    Parameters
    ----------
    name : str or None
        Name of the state instead of "Completed", such as `NOTHING_TO_DO`.
    """
    if TaskRunContext.get() is None and FlowRunContext.get() is None:
        return result
    return cast(R, Completed(name=name, message=message, data=result))


@contextmanager
def waiting(sentence: str) -> Iterator[None]:
    """Have the page of the present run, and of the one it is part of, say meanwhile what it waits for."""
    runs: set[str] = set()
    with suppress(httpx.HTTPError, PrefectException):  # pages are for looking at
        runs = {number for number in (runtime.flow_run.id, runtime.flow_run.root_flow_run_id) if number}
        _replace(runs, "Running", Running(name=WAITING, message=sentence))
    yield
    with suppress(httpx.HTTPError, PrefectException):
        _replace(runs, WAITING, Running())


def _replace(runs: Iterable[str], former: str, state: State[Any]) -> None:
    """Set the state of runs, unless they have another one by now, such as to be cancelled."""
    for number in runs:
        with get_client(sync_client=True) as client:
            if client.read_flow_run(UUID(number)).state_name == former:
                client.set_flow_run_state(UUID(number), state, force=True)


def in_plain_words(flow_function: Callable[P, R]) -> Callable[P, R]:
    """Have a flow that ends with a `BifeError` show its sentence; the caller of the flow still gets the error."""

    @functools.wraps(flow_function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return flow_function(*args, **kwargs)
        except BifeError as error:
            if FlowRunContext.get() is None:
                raise
            return cast(R, Failed(message=str(error), data=error))

    # Prefect reads annotations as text and would look their names up here, where they mean nothing.
    signature = inspect.signature(flow_function, eval_str=True)
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {name: known.annotation for name, known in signature.parameters.items()} | {
        "return": signature.return_annotation
    }
    return run


def _tidy(record: logging.LogRecord) -> bool:
    """Name the task that a line of a log is of, and leave the stack out of an error that was made on purpose.

    A flow's page lists the lines of all its tasks, and each of them says "Finished in state Completed()".
    """
    name = getattr(record, "task_run_name", None)
    if record.name == "prefect.task_runs" and name and not str(record.msg).startswith(f"{name}: "):
        record.msg, record.args = f"{name}: {record.getMessage()}", ()
    if isinstance(record.exc_info, tuple) and isinstance(record.exc_info[1], BifeError):
        record.exc_info = record.exc_text = None
    return True


for _name in ("prefect.task_runs", "prefect.flow_runs"):
    logging.getLogger(_name).addFilter(_tidy)


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
