"""What all tasks agree on: how results are keyed, stored and reused, and when a task is tried again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, Final, Literal, TypedDict

from prefect.client.schemas.objects import State, TaskRun
from prefect.context import TaskRunContext
from prefect.tasks import Task

from bife_core.sandbox import WorkerFailure

KeyFunction = Callable[[TaskRunContext, dict[str, Any]], str | None]

RETRIES: Final = 2
RETRY_DELAYS_S: Final[list[float]] = [1.0, 5.0]


def stored_under(name: str, version: int, parts: Callable[[dict[str, Any]], dict[str, Any]]) -> KeyFunction:
    """Return the function that gives a task's results their key.

    Prefect's own policies hash the text of the task function and miss changes in what it calls, so the key is
    spelled out: the task's name, a version to be raised when its meaning changes, and what the result depends
    on.

    Parameters
    ----------
    parts : callable
        From the task's parameters to the JSON values its result depends on.
    """

    def key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
        text = json.dumps(parts(parameters), sort_keys=True)
        return f"{name}-v{version}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"

    return key


def text_digest(text: str) -> str:
    """Return a hash of a text as it stands."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class TriedAgain(TypedDict):
    """Options of tasks for which another try may help."""

    retries: int
    retry_delay_seconds: list[float]
    retry_condition_fn: Callable[[Task[..., Any], TaskRun, State[Any]], bool]


class Stored(TriedAgain):
    """Options of tasks whose result, as JSON, stands for the work from then on."""

    persist_result: bool
    result_serializer: Literal["json"]


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
STORED: Final[Stored] = {**TRIED_AGAIN, "persist_result": True, "result_serializer": "json"}
