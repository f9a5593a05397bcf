"""The deployments and automations that `prefect.yaml` declares, as `bife up` registers them.

`prefect deploy --all` reads the same file for a server of your own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import yaml
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentScheduleCreate, DeploymentUpdate, WorkPoolCreate
from prefect.client.schemas.objects import ConcurrencyOptions
from prefect.client.schemas.schedules import CronSchedule
from prefect.events.actions import RunDeployment
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectNotFound
from prefect.flows import Flow
from prefect.workers.process import ProcessWorker
from pydantic import ValidationError

from bife_core.config import PipelineConfig
from bife_core.scip.solving import versions
from bife_core.values import describe
from tasks.tracking.provenance import git
from tasks.tracking.store import COLLECTION, EVALUATION, EVOLUTION, experiment_url

_ROOT: Final = Path(__file__).parents[2]
_EXPERIMENTS: Final = {
    "collection": COLLECTION,
    "evolution": EVOLUTION,
    "evaluation": EVALUATION,
    "pipeline": EVOLUTION,
}
"""The MLflow experiment that the runs of a deployment are in."""

WORK_POOL: Final = "bife"
"""Name of the work pool of the deployments."""


def _declared(name: str) -> Any:
    return yaml.safe_load((_ROOT / name).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Deployment:
    """An entry of `prefect.yaml`; its name is that of the flow too."""

    declared: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of flow and deployment, such as ``evolution``."""
        return str(self.declared["name"])

    @property
    def form(self) -> dict[str, Any]:
        """JSON schema of the flow's parameters, which Prefect's page makes a form of."""
        module, _, function = self.declared["entrypoint"].rpartition(".")
        flow: Flow[..., Any] = getattr(import_module(module), function)
        return flow.parameters.model_dump(exclude_unset=True)

    @property
    def parameters(self) -> dict[str, Any]:
        """What the form is filled with, every setting included."""
        given = self.declared.get("parameters", {})
        return {
            name: PipelineConfig.model_validate(settings).model_dump(mode="json")
            for name, settings in given.items()
        }

    @property
    def description(self) -> str:
        """Markdown shown on the deployment's page, with a link to the runs in MLflow."""
        about, experiment = self.declared["description"], _EXPERIMENTS.get(self.name)
        if experiment is None:
            return str(about)
        return f"{about}\n\nRuns in MLflow: [{experiment}]({experiment_url(experiment)})"

    @property
    def triggers(self) -> list[dict[str, Any]]:
        """The automations that start it; parameters are templates that are filled in from the event."""
        return list(self.declared.get("triggers", []))


DEPLOYMENTS: Final = tuple(map(Deployment, _declared("prefect.yaml")["deployments"]))

LOST_RUNS: Final = AutomationCore.model_validate(_declared("prefect-lost-runs.yaml"))
"""For workers on other machines; on its own each worker of `bife up` sees within seconds that a process is gone."""


def register(client: SyncPrefectClient, deployments: Sequence[Deployment] = DEPLOYMENTS) -> list[str]:
    """Register all deployments and return a sentence for each parameter that no longer fitted.

    What a person may change on the page (parameters, schedules, limits, tags, whether it is paused) is set when
    a deployment is made and left alone afterwards; what belongs to the code (form, version, description) is
    renewed. Parameters that are missing, or that the code no longer takes, are replaced.
    """
    try:
        client.read_work_pool(WORK_POOL)
    except ObjectNotFound:
        template = ProcessWorker.get_default_base_job_template()
        client.create_work_pool(WorkPoolCreate(name=WORK_POOL, type="process", base_job_template=template))
    notes = []
    for deployment in deployments:
        try:
            present = client.read_deployment_by_name(f"{deployment.name}/{deployment.name}")
        except ObjectNotFound:
            _create(client, deployment)
            continue
        update = DeploymentUpdate(path=None, **_of_the_code(deployment))
        reason = _refusal(present.parameters)
        if reason is not None:
            notes.append(f"The parameters of {deployment.name} no longer fit and were set anew: {reason}")
        if reason is not None or not present.parameters:
            update = update.model_copy(update={"parameters": deployment.parameters})
        client.update_deployment(present.id, update)
    register_automations(client)
    return notes


def _of_the_code(deployment: Deployment) -> dict[str, Any]:
    """Return what of a deployment no person changes."""
    return {
        "version": code_version(),
        "description": deployment.description,
        "entrypoint": deployment.declared["entrypoint"],
        "pull_steps": [],
        "work_pool_name": WORK_POOL,
        "enforce_parameter_schema": True,
        "parameter_openapi_schema": deployment.form,
    }


def _create(client: SyncPrefectClient, deployment: Deployment) -> None:
    schedules = [
        DeploymentScheduleCreate(
            schedule=CronSchedule(cron=given["cron"], timezone=given["timezone"]),
            active=given["active"],
            slug=given["slug"],
        )
        for given in deployment.declared.get("schedules", [])
    ]
    limit = deployment.declared.get("concurrency_limit")
    client.create_deployment(
        flow_id=client.create_flow_from_name(deployment.name),
        name=deployment.name,
        tags=deployment.declared["tags"],
        parameters=deployment.parameters,
        schedules=schedules or None,
        concurrency_limit=limit and limit["limit"],
        concurrency_options=limit and ConcurrencyOptions(collision_strategy=limit["collision_strategy"]),
        **_of_the_code(deployment),
    )


def _refusal(parameters: Mapping[str, Any]) -> str | None:
    """Return why stored parameters cannot be used any more, or None."""
    if "config" not in parameters:
        return None
    try:
        PipelineConfig.model_validate(parameters["config"])
    except ValidationError as error:
        return describe(error)
    return None


def register_automations(client: SyncPrefectClient) -> None:
    """Create the automations that are missing; one that is there is left as a person may have changed it.

    Automations named ``bife: ...`` that this version does not declare are removed. No two automations may expect the
    same event: while the run of the first is made, SQLite may refuse what Prefect writes down for the second, the
    event is handled anew, and the first makes another run.

    Parameters
    ----------
    client : SyncPrefectClient
        Of a server that knows the deployments already.

    Raises
    ------
    ObjectNotFound
        If a deployment is missing.
    """
    if client.find_automation(LOST_RUNS.name) is None:
        client.create_automation(LOST_RUNS)
    declared = [(deployment, trigger) for deployment in DEPLOYMENTS for trigger in deployment.triggers]
    names = {LOST_RUNS.name, *(trigger["name"] for _, trigger in declared)}
    for known in client.read_automations():
        if known.name.startswith("bife: ") and known.name not in names:
            client.delete_automation(known.id)
    for deployment, trigger in declared:
        if client.find_automation(trigger["name"]) is not None:
            continue
        made = client.read_deployment_by_name(f"{deployment.name}/{deployment.name}")
        run = RunDeployment(source="selected", deployment_id=made.id, parameters=trigger["parameters"])
        client.create_automation(
            AutomationCore(
                name=trigger["name"],
                description=trigger["description"],
                trigger=EventTrigger(
                    match=ResourceSpecification(trigger.get("match", {})),
                    expect=set(trigger["expect"]),
                    posture=Posture.Reactive,
                    threshold=1,
                ),
                actions=[run],
                # As `prefect deploy` makes them of `prefect.yaml`, which then finds these and puts its own in place.
                owner_resource=f"prefect.deployment.{made.id}",
            )
        )


@cache
def code_version() -> str:
    """Return the package's version, and which commit it is where the code is a git checkout.

    Examples
    --------
    >>> code_version()  # doctest: +SKIP
    '0.1.0+g4095f76'
    """
    number, commit = versions()["bife"], git("describe", "--always", "--dirty", "--exclude", "*")
    return f"{number}+g{commit}" if commit is not None else number
