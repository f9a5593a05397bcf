"""The backend of commands that runs stages as flows of Prefect, with a tracker."""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bife_core.cli.backend import Backend, Finding
from bife_tasks import INSTALLED, mlflow_tracks

if TYPE_CHECKING:
    from bife_core.registry.base import Registry
    from bife_core.run.config import PipelineConfig
    from bife_core.run.observer import Observer
    from bife_core.run.stages.runtime import Runtime


def _mlflow() -> Finding:
    if not mlflow_tracks():
        return Finding("ok", f"not asked: BIFE_TRACKER names {os.environ['BIFE_TRACKER']}")
    from bife_core.run.stages.records import SEARCH
    from bife_tasks.tracking.mlflow_runs import experiment_id, tracking_uri

    experiment_id(SEARCH)
    return Finding("ok", f"{importlib.metadata.version('mlflow')}, store {_without_password(tracking_uri())}")


def _prefect() -> Finding:
    from prefect.client.orchestration import get_client

    importlib.import_module("bife_flows.operate.pages")  # which a version of fastapi that does not fit breaks
    versions = f"{importlib.metadata.version('prefect')}, fastapi {importlib.metadata.version('fastapi')}"
    address = os.environ.get("PREFECT_API_URL")
    if not address:
        return Finding("ok", f"{versions}, API started with each run")
    with get_client(sync_client=True) as client:
        trouble = client.api_healthcheck()
    where = f"{versions}, API {_without_password(address)}"
    return Finding("fail", f"{where} cannot be reached: {trouble}") if trouble else Finding("ok", where)


def _without_password(address: str) -> str:
    return re.sub(r"//[^/@]*@", "//", address)


class Flows(Backend):
    """Runs stages as flows; what they need is imported when one runs."""

    installed = INSTALLED
    checks = MappingProxyType({"MLflow": _mlflow, "Prefect": _prefect})

    @property
    def commands(self) -> tuple[Callable[..., None], ...]:
        """Those of servers, worker and home."""
        from bife_flows.cli.operating import COMMANDS

        return COMMANDS

    def registry(self) -> Registry:
        """Return the tracker's registry; while MLflow has none, that of the home's store."""
        from bife_tasks.registry import registry

        return registry()

    def runtime(self, observer: Observer | None = None) -> Runtime:
        """Return a runtime that can ask the tracker; MLflow takes seconds to load."""
        from bife_core.run.stages.runtime import Runtime
        from bife_tasks.stores import tracker

        return Runtime(observer=observer, tracker=tracker())

    def reporter(self) -> Callable[[str], object]:
        """Return a function that tells Prefect and the tracker."""
        from bife_flows.operate.running import report_interruption

        return report_interruption

    @contextmanager
    def running(self, stage: str, config: PipelineConfig, observer: Observer) -> Iterator[Callable[..., Any]]:
        """Give a context the flow of a stage; a `CommandEnd` says that Prefect could not run it."""
        from httpx import HTTPError
        from prefect.exceptions import PrefectException

        from bife_flows.operate.running import ready

        try:
            with ready(observer, "bife_flows.stages"):
                from bife_flows import stages

                yield partial(getattr(stages, stage), config)
        except (HTTPError, PrefectException, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not str(error).startswith("Failed to reach API"):
                raise
            address = os.environ.get("PREFECT_API_URL", "its embedded server")
            from bife_core.cli.outcome import CommandEnd  # and with it typer, which `bife-scip` does without

            raise CommandEnd(f"Prefect's API at {address} cannot be used: {error}") from error
