"""The deployments and automations of `prefect.yaml`, as `bife up` registers them.

`prefect deploy --all` reads the same file for a server of your own.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final

import yaml
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentUpdate, WorkPoolCreate
from prefect.client.schemas.objects import ConcurrencyLimitConfig
from prefect.deployments.runner import RunnerDeployment
from prefect.events import DeploymentEventTrigger
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectNotFound
from prefect.schedules import Schedule
from prefect.utilities.schema_tools import ValidationError, validate
from prefect.workers.process import ProcessWorker

from bife_core.scip.solving import versions

WORK_POOL: Final = "bife"


def _declared(name: str) -> Any:
    return yaml.safe_load((Path(__file__).parents[2] / name).read_text(encoding="utf-8"))


DEPLOYMENTS: Final[list[dict[str, Any]]] = _declared("prefect.yaml")["deployments"]

AUTOMATIONS: Final = [
    AutomationCore.model_validate(each) for each in _declared("prefect-automations.yaml")["automations"]
]
"""First the one for runs that are lost with another machine; then alerts, which are switched off."""


def register(client: SyncPrefectClient, deployments: list[dict[str, Any]] = DEPLOYMENTS) -> list[str]:
    """Register deployments, and return a sentence for each whose parameters no longer fitted.

    What a person may change on the page (parameters, schedules, limits, tags, automations) is set when a deployment
    is made and left alone afterwards; what belongs to the code (form, version, description) is renewed. Parameters
    that are missing, or that the code no longer takes, are replaced.
    """
    try:
        client.read_work_pool(WORK_POOL)
    except ObjectNotFound:
        template = ProcessWorker.get_default_base_job_template()
        client.create_work_pool(WorkPoolCreate(name=WORK_POOL, type="process", base_job_template=template))
    for automation in AUTOMATIONS:
        if client.find_automation(automation.name) is None:
            client.create_automation(automation)
    return [note for deployment in deployments if (note := _register(client, deployment))]


def _register(client: SyncPrefectClient, declared: dict[str, Any]) -> str | None:
    name = declared["name"]
    module, _, function = declared["entrypoint"].rpartition(".")
    flow = getattr(import_module(module), function)
    try:
        present = client.read_deployment_by_name(f"{flow.name}/{name}")
    except ObjectNotFound:
        limit = declared.get("concurrency_limit")
        new = RunnerDeployment.from_entrypoint(
            declared["entrypoint"],
            name,
            tags=declared["tags"],
            parameters=declared.get("parameters", {}),
            schedules=[Schedule(**schedule) for schedule in declared.get("schedules", [])],
            concurrency_limit=ConcurrencyLimitConfig(**limit) if limit else None,
            triggers=[DeploymentEventTrigger(**trigger) for trigger in declared.get("triggers", [])],
        )
        new.apply(work_pool_name=WORK_POOL)
        present = client.read_deployment_by_name(f"{flow.name}/{name}")
    update: dict[str, Any] = {
        "version": versions()["bife"],
        "description": declared["description"],
        "entrypoint": declared["entrypoint"],
        "path": None,  # flows are imported; there is nothing to copy
        "pull_steps": [],
        "work_pool_name": WORK_POOL,
        "enforce_parameter_schema": True,
        "parameter_openapi_schema": flow.parameters.model_dump(exclude_unset=True),
    }
    refused = None
    try:
        validate(
            present.parameters, update["parameter_openapi_schema"], raise_on_error=True, ignore_required=True
        )
    except ValidationError as error:
        refused = f"The parameters of {name} no longer fit and were replaced: {error}"
    if refused is not None or not present.parameters:
        update["parameters"] = declared.get("parameters", {})
    client.update_deployment(present.id, DeploymentUpdate(**update))
    return refused
