"""The stages as Prefect deployments: what a person can start, schedule and limit on Prefect's pages.

`prefect.yaml` describes the same deployments to `prefect deploy`; a test keeps both equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentScheduleCreate, DeploymentUpdate, WorkPoolCreate
from prefect.client.schemas.objects import ConcurrencyLimitStrategy, ConcurrencyOptions
from prefect.client.schemas.schedules import CronSchedule
from prefect.exceptions import ObjectNotFound
from prefect.flows import Flow
from prefect.workers.process import ProcessWorker
from pydantic import ValidationError

from bife_core.config import PipelineConfig
from bife_core.presets import preset
from bife_core.scip.solving import versions
from bife_core.values import describe
from flows.collection import collection
from flows.delivery import delivery
from flows.evaluation import evaluation
from flows.evolution import evolution
from flows.operate.automations import register_automations
from flows.pipeline import pipeline
from flows.promotion import promotion, rollback
from tasks.tracking.provenance import git
from tasks.tracking.store import COLLECTION, EVALUATION, EVOLUTION
from tasks.tracking.views import experiment_url, save_lists

WORK_POOL: Final = "bife"
"""Name of the pool the deployments' runs wait in and workers take them from."""


@dataclass(frozen=True)
class Schedule:
    """When a deployment is run by itself, as cron in UTC, and whether that is switched on."""

    name: str
    cron: str
    active: bool


def searching_anew() -> PipelineConfig:
    """Return the settings forms are filled with: the preset `quick`, with another seed for each run."""
    quick = preset("quick")
    return quick.model_copy(update={"search": quick.search.model_copy(update={"seed": None})})


@dataclass(frozen=True)
class Deployment:
    """A flow as it is deployed.

    Attributes
    ----------
    experiment : str or None
        The MLflow experiment its runs are found in.
    at_once : int or None
        Runs of it that may go on at the same time; others wait. None sets no limit.
    schedule : Schedule or None
        What it comes with, to be switched on or off or changed on the page.
    when_busy : ConcurrencyLimitStrategy
        What becomes of more runs: they wait, since their solves would share the cores, or are not begun at all.
    """

    flow: Flow[..., Any]
    about: str
    experiment: str | None = None
    at_once: int | None = 1
    schedule: Schedule | None = None
    when_busy: ConcurrencyLimitStrategy = ConcurrencyLimitStrategy.ENQUEUE

    @property
    def name(self) -> str:
        """Name of flow and deployment alike, such as ``evolution``."""
        return self.flow.name

    @property
    def tags(self) -> list[str]:
        """What the deployment and its runs are found by."""
        return ["bife", self.name]

    @property
    def entrypoint(self) -> str:
        """The flow as a module path: it is imported, wherever the package lies."""
        return f"{self.flow.fn.__module__}.{self.flow.fn.__name__}"

    @property
    def form(self) -> dict[str, Any]:
        """JSON schema of the flow's parameters: Prefect's page makes a form of it and refuses what does not fit."""
        return self.flow.parameters.model_dump(exclude_unset=True)

    @property
    def parameters(self) -> dict[str, Any]:
        """What the form is filled with."""
        settings = "config" in self.flow.parameters.properties
        return {"config": searching_anew().model_dump(mode="json")} if settings else {}

    @property
    def description(self) -> str:
        """Markdown shown on the deployment's page, with a link to the runs in MLflow."""
        if self.experiment is None:
            return self.about
        return f"{self.about}\n\nRuns in MLflow: [{self.experiment}]({experiment_url(self.experiment)})"


DEPLOYMENTS: Final[tuple[Deployment, ...]] = (
    Deployment(
        collection,
        "Record strong-branching decisions. Instances done before are not solved again.",
        COLLECTION,
    ),
    Deployment(
        evolution,
        "Search for a branching rule. Run it again with the same parameters to go on where it stopped.",
        EVOLUTION,
    ),
    Deployment(evaluation, "Compare a rule with a built-in of SCIP on held-out instances.", EVALUATION),
    Deployment(
        pipeline,
        "From instances to a registered rule: collection, evolution, evaluation, registration.",
        EVOLUTION,
        schedule=Schedule("nightly", "0 2 * * *", active=False),
    ),
    Deployment(
        promotion,
        "Weigh a challenger against RPB and the champion, ask a person on this page, and promote it or not.",
        at_once=None,
    ),
    Deployment(rollback, "Make the former champion of a registered model champion again.", at_once=None),
    Deployment(
        delivery,
        "Bring to MLflow what an outage or a lost run left behind. It starts by itself.",
        schedule=Schedule("hourly", "17 * * * *", active=True),
        when_busy=ConcurrencyLimitStrategy.CANCEL_NEW,
    ),
)
"""All deployments, in the order a reader meets them; one line more registers another flow."""


def register(client: SyncPrefectClient, deployments: Sequence[Deployment] = DEPLOYMENTS) -> list[str]:
    """Tell Prefect of all deployments and return a sentence for each thing that was changed against a person's will.

    What a person may change on the page (parameters, schedules, limits, tags, whether it is paused) is set when
    a deployment is made and left alone afterwards; what belongs to the code (form, version, description) is
    renewed. Parameters that are missing, or that the code no longer takes, are replaced.
    """
    try:
        client.read_work_pool(WORK_POOL)
    except ObjectNotFound:
        template = ProcessWorker.get_default_base_job_template()
        client.create_work_pool(WorkPoolCreate(name=WORK_POOL, type="process", base_job_template=template))
    save_lists()  # the deployments' descriptions link to them
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
        if reason is not None or not present.parameters:  # `prefect deploy` leaves the forms to us
            update = update.model_copy(update={"parameters": deployment.parameters})
        client.update_deployment(present.id, update)
    register_automations(client)
    return notes


def _of_the_code(deployment: Deployment) -> dict[str, Any]:
    """Return what of a deployment no person changes."""
    return {
        "version": code_version(),
        "description": deployment.description,
        "entrypoint": deployment.entrypoint,
        "pull_steps": [],
        "work_pool_name": WORK_POOL,
        "enforce_parameter_schema": True,
        "parameter_openapi_schema": deployment.form,
    }


def _create(client: SyncPrefectClient, deployment: Deployment) -> None:
    given = deployment.schedule
    schedules = None
    if given is not None:
        times = CronSchedule(cron=given.cron, timezone="UTC")
        schedules = [DeploymentScheduleCreate(schedule=times, active=given.active, slug=given.name)]
    busy = ConcurrencyOptions(collision_strategy=deployment.when_busy)
    client.create_deployment(
        flow_id=client.create_flow_from_name(deployment.name),
        name=deployment.name,
        tags=deployment.tags,
        parameters=deployment.parameters,
        schedules=schedules,
        concurrency_limit=deployment.at_once,
        concurrency_options=busy if deployment.at_once else None,
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
