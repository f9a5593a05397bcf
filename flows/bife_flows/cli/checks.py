"""What `bife doctor` checks of MLflow and Prefect."""

from __future__ import annotations

import importlib.metadata
import os
import re
from typing import Final

from bife_core.cli.backend import Check, Finding


def _mlflow() -> Finding:
    from bife_core.run.stages.records import EVOLUTION
    from bife_tasks.tracking.store import experiment_id, tracking_uri

    experiment_id(EVOLUTION)
    return Finding("ok", f"{importlib.metadata.version('mlflow')}, store {_without_password(tracking_uri())}")


def _prefect() -> Finding:
    from prefect.client.orchestration import get_client

    importlib.import_module("bife_flows.operate.pages")  # which a version of fastapi that does not fit breaks
    found = f"{importlib.metadata.version('prefect')}, fastapi {importlib.metadata.version('fastapi')}"
    address = os.environ.get("PREFECT_API_URL")
    if not address:
        return Finding("ok", f"{found}, API started with each run")
    with get_client(sync_client=True) as client:
        trouble = client.api_healthcheck()
    where = f"{found}, API {_without_password(address)}"
    return Finding("fail", f"{where} cannot be reached: {trouble}") if trouble else Finding("ok", where)


def _without_password(address: str) -> str:
    return re.sub(r"//[^/@]*@", "//", address)


CHECKS: Final[dict[str, Check]] = {"MLflow": _mlflow, "Prefect": _prefect}
