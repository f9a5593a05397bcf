"""The worker of `bife up`: registers the deployments, runs what is due, and closes runs whose process is gone.

Deployments and automations are in `prefect.yaml` and `prefect-automations.yaml` beside this module, which the command
`prefect` reads for a server of your own.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from itertools import count
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import DeploymentUpdate, WorkPoolCreate
from prefect.client.schemas.objects import ConcurrencyLimitConfig
from prefect.deployments.runner import RunnerDeployment
from prefect.events import DeploymentEventTrigger
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectNotFound
from prefect.schedules import Schedule
from prefect.utilities.schema_tools import ValidationError, validate
from prefect.workers.process import ProcessWorker

from bife_core.base.errors import BifeError
from bife_core.solver.scip.solve import versions
from bife_flows.operate.running import close_abandoned
from bife_flows.reporting.artifacts import overview_place, renew
from bife_flows.reporting.conduct import name_delivered
from bife_tasks.stores import ENDED, tracker

WORK_POOL: Final = "bife"

FILES: Final = Path(__file__).parent

_logger = logging.getLogger("prefect.bife")


def _declared(name: str) -> Any:
    return yaml.safe_load((FILES / name).read_text(encoding="utf-8"))


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
    name, flow = declared["name"], resolve_name(declared["entrypoint"])
    try:
        present = client.read_deployment_by_name(f"{flow.name}/{name}")
    except ObjectNotFound:
        limit = declared.get("concurrency_limit")
        RunnerDeployment.from_entrypoint(
            declared["entrypoint"],
            name,
            tags=declared["tags"],
            parameters=declared.get("parameters", {}),
            schedules=[Schedule(**schedule) for schedule in declared.get("schedules", [])],
            concurrency_limit=ConcurrencyLimitConfig(**limit) if limit else None,
            triggers=[DeploymentEventTrigger(**trigger) for trigger in declared.get("triggers", [])],
        ).apply(work_pool_name=WORK_POOL)
        present = client.read_deployment_by_name(f"{flow.name}/{name}")
    form = flow.parameters.model_dump(exclude_unset=True)
    update: dict[str, Any] = {
        "version": versions()["bife"],
        "description": f"{declared['description']}\n\n[Overview](/v2{overview_place(client)})",
        "entrypoint": declared["entrypoint"],
        "path": None,  # flows are imported; there is nothing to copy
        "pull_steps": [],
        "work_pool_name": WORK_POOL,
        "enforce_parameter_schema": True,
        "parameter_openapi_schema": form,
    }
    refused = None
    try:
        validate(present.parameters, form, raise_on_error=True, ignore_required=True)
    except ValidationError as error:
        refused = f"The parameters of {name} no longer fit and were replaced: {error}"
    if refused is not None or not present.parameters:
        update["parameters"] = declared.get("parameters", {})
    client.update_deployment(present.id, DeploymentUpdate(**update))
    return refused


def look_after() -> None:
    """Close runs whose process is gone, write to the tracker what it lacks, and renew the overview, for good."""
    for turn in count():
        time.sleep(10.0)
        try:
            with get_client(sync_client=True) as client:
                close_abandoned(client)
            left = tracker().synchronise(ENDED)
            if left:
                _logger.warning(left)
            else:
                name_delivered()
            if turn % 6 == 0:  # once a minute
                renew()
        except Exception as error:  # noqa: BLE001 - a server that restarts, a full disk: the next look may do better
            _logger.warning("Runs that ended could not be looked after; this is tried again: %r", error)


def main() -> None:
    """Run what is due on this machine until a signal ends this process; its runs report their own end."""
    deadline = time.monotonic() + 120.0
    with get_client(sync_client=True) as client:
        while (trouble := client.api_healthcheck()) is not None:
            if time.monotonic() > deadline:
                raise BifeError(f"Prefect's API at {client.api_url} cannot be used: {trouble}.") from trouble
            time.sleep(1.0)
        renew()  # to which deployments link
        for note in register(client):
            _logger.warning(note)
        renew()  # which links to deployments
        close_abandoned(client, worker_starts=True)
    threading.Thread(target=look_after, daemon=True).start()
    worker = ProcessWorker(work_pool_name=WORK_POOL, name=socket.gethostname())
    asyncio.run(worker.start(with_healthcheck=True))


if __name__ == "__main__":
    main()
