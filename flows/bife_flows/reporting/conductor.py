"""What conducts the stages of a flow: steps are tasks of Prefect, which tries them again."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast

import httpx
from prefect import Flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State, TaskRun
from prefect.context import FlowRunContext
from prefect.exceptions import ObjectNotFound
from prefect.states import Completed
from prefect.tasks import Task
from pydantic import SecretStr

from bife_core.base.errors import BifeError, GeneratorError, StoreError
from bife_core.run.config import GeneratorConfig, PipelineConfig
from bife_core.run.stages.runtime import Conductor, PresentRun, Runtime
from bife_core.search.generators import GENERATORS
from bife_core.search.generators.model_settings import holding_key
from bife_core.workers import WorkerFailure
from bife_flows.reporting.artifacts import artifact_key, show, show_generation, showing
from bife_tasks.stores import announce, observer, tracker

P = ParamSpec("P")
R = TypeVar("R")

KEY_BLOCK: Final = "bife-llm-api-key"

NOTHING_TO_DO: Final = "Nothing to do"
"""Name of the state of a run that found all results stored already."""


def with_message(result: R, message: str, name: str | None = None) -> R:
    """Return a flow's result in such a way that the page of its run shows a message; outside a run, as it is.

    `name` names the state, which is "Completed" otherwise.
    """
    if FlowRunContext.get() is None:
        return result
    return cast(R, Completed(name=name, message=message, data=result))


def worded(result: R) -> R:
    """Return a result in such a way that the page of its run shows the sentence it comes to, if it has one."""
    if isinstance(result, State) or not (sentence := getattr(result, "sentence", "")):
        return result
    return with_message(result, sentence, None if getattr(result, "new", True) else NOTHING_TO_DO)


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


FLOWS: Final[dict[Callable[..., Any], Flow[..., Any]]] = {}
"""The flow of each stage, which a part of another flow is a run of."""


class PrefectConductor(Conductor):
    """Has Prefect try steps again, runs parts of a stage as flows, and shows on its pages what comes of them."""

    announce = staticmethod(announce)
    show_generation = staticmethod(show_generation)

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

    def conclude(self, label: str, stage: str, text: str) -> None:
        """Show the conclusion of a stage that stands alone: what a pipeline concludes has that of its parts."""
        if self.present.stands_alone:
            with showing():
                show("markdown", artifact_key(stage, label), text, f"Conclusion of the {stage} on {label}")

    def step(self, name: str, title: str, work: Callable[[], R]) -> R:
        """Do a part of a stage as a task of Prefect; outside of a flow nobody would try it again."""
        if FlowRunContext.get() is None:
            return work()

        # Prefect would fill in what stands in braces.
        named = title.replace("{", "(").replace("}", ")")
        return task(name=name, task_run_name=named, **TRIED_AGAIN)(lambda: work()).submit().result()

    def stage(
        self, stage: Callable[Concatenate[PipelineConfig, Runtime, P], R], config: PipelineConfig,
        runtime: Runtime, *args: P.args, **kwargs: P.kwargs,
    ) -> R:  # fmt: skip
        """Run the flow of a stage, which has a runtime of its own, as a part of the present one."""
        if stage not in FLOWS:
            raise BifeError(
                f"Prefect runs a stage as its flow, and {stage.__module__}.{stage.__qualname__} has none; make one in "
                "bife_flows/stages.py."
            )
        return cast(R, FLOWS[stage](config, *args, **kwargs))

    def model_key(self, config: GeneratorConfig) -> AbstractContextManager[None]:
        """Have a model API called with the key in the block `KEY_BLOCK`, unless the environment has one."""
        variable = getattr(GENERATORS.find(config.kind), "key_variable", None)
        if variable is None or os.environ.get(variable):
            return nullcontext()
        try:
            with get_client(sync_client=True) as client:
                block = client.read_block_document_by_name(KEY_BLOCK, "secret", include_secrets=True)
        except ObjectNotFound:  # local servers need none
            return nullcontext()
        except httpx.HTTPError as error:
            # Of the cause only its kind: a server may repeat the secret in its complaint.
            raise GeneratorError(
                f"Prefect's Secret block {KEY_BLOCK} could not be read ({type(error).__name__}); set {variable}."
            ) from None
        return holding_key(SecretStr(str(block.data["value"])))


def flow_runtime() -> Runtime:
    """Return what a stage runs in as a flow."""
    return Runtime(observer=observer(), tracker=tracker(), conductor=PrefectConductor())
