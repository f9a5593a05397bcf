"""The runtime of a flow: steps are tasks of Prefect, which tries them again, and MLflow has all that is recorded."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, TypeVar

import httpx
from prefect import task
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.context import FlowRunContext
from prefect.exceptions import ObjectNotFound
from pydantic import SecretStr

from bife_core.config import GeneratorConfig
from bife_core.errors import GeneratorError
from bife_core.generators.model_settings import KEY_VARIABLE
from bife_core.registry.base import Registry
from bife_core.stages.records import EVOLUTION, Record, TrackedRun
from bife_core.stages.runtime import PresentRun, Runtime
from tasks.registry.mlflow_registry import IN_MLFLOW
from tasks.states import TRIED_AGAIN, with_message
from tasks.stores import announce, mlflow_run, observer
from tasks.tracking.provenance import provenance
from tasks.tracking.store import ranking_url, run_facts, run_url
from tasks.tracking.subscriber import track_evolution, track_record

R = TypeVar("R")

KEY_BLOCK: Final = "bife-llm-api-key"


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
        kind = study.partition("-")[0]
        run_id = self.step(
            f"track {kind}", f"write the {kind} to MLflow", lambda: track_record(folder, record)
        )
        return TrackedRun(run_id=run_id, url=run_url(run_id, record.experiment))

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

    def model_key(self, config: GeneratorConfig) -> SecretStr | None:
        """Return the key for a model API in the block `KEY_BLOCK`, unless none is needed or the environment has one."""
        if config.kind != "openai" or os.environ.get(KEY_VARIABLE):
            return None
        try:
            with get_client(sync_client=True) as client:
                block = client.read_block_document_by_name(KEY_BLOCK, "secret", include_secrets=True)
        except ObjectNotFound:  # local servers need none
            return None
        except httpx.HTTPError as error:
            # Of the cause only its kind: a server may repeat the secret in its complaint.
            raise GeneratorError(
                f"Prefect's Secret block {KEY_BLOCK} could not be read ({type(error).__name__}); set {KEY_VARIABLE}."
            ) from None
        return SecretStr(str(block.data["value"]))
