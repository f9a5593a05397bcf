"""The runtime of a flow: steps are tasks of Prefect, which tries them again, and MLflow has all that is recorded."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, TypeVar, cast

import httpx
from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State, TaskRun
from prefect.context import FlowRunContext, TaskRunContext
from prefect.exceptions import ObjectNotFound
from prefect.states import Completed
from prefect.tasks import Task
from pydantic import SecretStr

from bife_core.base.errors import BifeError, GeneratorError
from bife_core.registry.base import Registry
from bife_core.run.config import GeneratorConfig
from bife_core.run.stages.records import EVOLUTION, Record, TrackedRun
from bife_core.run.stages.runtime import PresentRun, Runtime
from bife_core.search.generators.model_settings import KEY_VARIABLE, holding_key
from bife_core.store import StoreError
from bife_core.workers import WorkerFailure
from bife_tasks.registry.mlflow_registry import IN_MLFLOW
from bife_tasks.stores import announce, mlflow_run, observer
from bife_tasks.tracking.provenance import provenance
from bife_tasks.tracking.store import ranking_url, run_facts, run_url
from bife_tasks.tracking.subscriber import track_evolution, track_record

R = TypeVar("R")

KEY_BLOCK: Final = "bife-llm-api-key"

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


def present_run() -> FlowRun | None:
    """Return the flow run that goes on here, or None."""
    context = FlowRunContext.get()
    return context.flow_run if context is not None else None


class TrackedRuntime(Runtime):
    """Has Prefect try steps again, and MLflow track what is recorded."""

    announce = staticmethod(announce)
    provenance = staticmethod(provenance)
    run_facts = staticmethod(run_facts)
    run_of = staticmethod(mlflow_run)

    def __init__(self) -> None:
        super().__init__(observer=observer())

    @cached_property
    def registry(self) -> Registry:
        """MLflow's registry."""
        return IN_MLFLOW

    def step(self, name: str, title: str, work: Callable[[], R]) -> R:
        """Do a part of a stage as a task of Prefect; outside of a flow nobody would try it again."""
        if FlowRunContext.get() is None:
            return work()

        def worded() -> R:
            result = work()
            sentence = getattr(result, "sentence", "")
            return with_message(result, sentence) if sentence else result

        # Prefect would fill in what stands in braces.
        named = title.replace("{", "(").replace("}", ")")
        return task(name=name, task_run_name=named, **TRIED_AGAIN)(worded).submit().result()

    def record(self, study: str, record: Record) -> TrackedRun:
        """Store a record and write it to MLflow."""
        folder = self.home.runs / study
        kind, timed = study.partition("-")[0], record.model_copy(update={"began_unix_s": self.began_unix_s})
        run = self.step(f"track {kind}", f"write the {kind} to MLflow", lambda: track_record(folder, timed))
        return TrackedRun(run_id=run, url=run_url(run, record.experiment))

    def follow(self, study: str) -> TrackedRun:
        """Write the events of a search that MLflow lacks."""
        track_evolution(study)
        number = mlflow_run(study)
        return TrackedRun(run_id=number, url=run_url(number, EVOLUTION), ranking=ranking_url(number))

    @property
    def present(self) -> PresentRun:
        """The present flow run; one that is tried again may have emitted no event before."""
        run = present_run()
        if run is None:
            return PresentRun()
        return PresentRun(
            number=str(run.id),
            scheduled=run.expected_start_time or datetime.now(UTC),
            tried_again=run.run_count > 1,
            stands_alone=run.parent_task_run_id is None,
        )

    def model_key(self, config: GeneratorConfig) -> AbstractContextManager[None]:
        """Have a model API called with the key in the block `KEY_BLOCK`, unless the environment has one."""
        if config.kind != "openai" or os.environ.get(KEY_VARIABLE):
            return nullcontext()
        try:
            with get_client(sync_client=True) as client:
                block = client.read_block_document_by_name(KEY_BLOCK, "secret", include_secrets=True)
        except ObjectNotFound:  # local servers need none
            return nullcontext()
        except httpx.HTTPError as error:
            # Of the cause only its kind: a server may repeat the secret in its complaint.
            raise GeneratorError(
                f"Prefect's Secret block {KEY_BLOCK} could not be read ({type(error).__name__}); set {KEY_VARIABLE}."
            ) from None
        return holding_key(SecretStr(str(block.data["value"])))
