"""Automations: evaluation follows an evolution, promotion a new challenger, and delivery an outage or a lost run.

Only runs that were started by themselves announce their end, so a pipeline, which evaluates on its own, starts no
second evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState, RunDeployment
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification

from flows.operate.abandoned import GONE
from flows.reporting.events import CHALLENGER_REGISTERED, EVOLUTION_ENDED, RECORDS_WAIT
from tasks.states import NOTHING_TO_DO

HEARTBEAT: Final = "prefect.flow-run.heartbeat"
"""What Prefect has a run say every three minutes."""

_NO_PROCESS: Final = (
    *("Completed*", f"{NOTHING_TO_DO}*"),  # the names of our own are announced in place of the type
    *("Failed", "Crashed", "Cancelled", "Paused", "Suspended", "AwaitingRetry"),
)
"""Names of the states after which nothing is to be heard of a run; a star stands for the rest of a name."""


@dataclass(frozen=True)
class Reaction:
    """An automation, found again by its name: a deployment (``flow/deployment``) that is run when an event occurs.

    The parameters are templates, filled in from the event; `match` is what an event must be about.

    No event may be expected by two of them, `LOST_RUNS` included: while the run of the first is made, SQLite may refuse
    what Prefect writes down for the second, the event is handled anew, and the first makes another run.
    """

    name: str
    about: str
    event: str
    deployment: str
    parameters: Mapping[str, str | bool] = field(default_factory=dict)
    match: Mapping[str, str] = field(default_factory=dict)


LOST_RUNS: Final = AutomationCore(
    name="bife: runs whose process is gone",
    description="Marks runs that have not been heard of for ten minutes as crashed: their machine is lost.",
    trigger=EventTrigger(
        match=ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"}),
        after={HEARTBEAT},
        expect={HEARTBEAT, *(f"prefect.flow-run.{state}" for state in _NO_PROCESS)},
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=600),
    ),
    actions=[ChangeFlowRunState(state=StateType.CRASHED, message=GONE)],
)
"""For workers on other machines; on its own each worker of `bife up` sees within seconds that a process is gone."""

REACTIONS: Final = (
    Reaction(
        "bife: evaluate after an evolution",
        "Compares the best rule with RPB on held-out instances and registers it as challenger.",
        EVOLUTION_ENDED,
        "evaluation/evaluation",
        {"config": "{{ event.payload.config }}", "rule": "{{ event.payload.rule }}", "as_challenger": True},
    ),
    Reaction(
        "bife: promote a challenger",
        "Weighs a new challenger against the champion and, where the settings say so, asks a person.",
        CHALLENGER_REGISTERED,
        "promotion/promotion",
        {"name": "{{ event.payload.name }}", "approval": "{{ event.payload.approval }}"},
    ),
    Reaction(
        "bife: deliver what waits",
        "Brings records to MLflow, once it is back, that a run could not.",
        RECORDS_WAIT,
        "delivery/delivery",
    ),
    Reaction(
        "bife: deliver after a lost run",
        "Brings what a run that is not heard of any more had paid for to MLflow.",
        "prefect.automation.triggered",
        "delivery/delivery",
        match={"prefect.resource.name": LOST_RUNS.name},
    ),
)


def register_automations(client: SyncPrefectClient) -> None:
    """Create the automations that are missing; one that is there is left as a person may have changed it.

    Names that begin like ours and are not, or not any more, are removed: an earlier version made them.

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
    declared = {LOST_RUNS.name, *(reaction.name for reaction in REACTIONS)}
    for known in client.read_automations():
        if known.name.startswith("bife: ") and known.name not in declared:
            client.delete_automation(known.id)
    for reaction in REACTIONS:
        if client.find_automation(reaction.name) is not None:
            continue
        deployment = client.read_deployment_by_name(reaction.deployment)
        run = RunDeployment(
            source="selected", deployment_id=deployment.id, parameters=dict(reaction.parameters)
        )
        trigger = EventTrigger(
            match=ResourceSpecification(dict(reaction.match)),
            expect={reaction.event},
            posture=Posture.Reactive,
            threshold=1,
        )
        client.create_automation(
            AutomationCore(
                name=reaction.name,
                description=reaction.about,
                enabled=True,
                trigger=trigger,
                actions=[run],
                # As `prefect deploy` makes them of `prefect.yaml`, which then finds these and puts its own in place.
                owner_resource=f"prefect.deployment.{deployment.id}",
            )
        )
