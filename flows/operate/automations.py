"""Automations: evaluation starts when an evolution ends, and promotion when a challenger is registered.

Only runs that were started by themselves announce their end, so a pipeline, which evaluates on its own, starts no
second evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from prefect.client.orchestration import SyncPrefectClient
from prefect.events.actions import RunDeployment
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture

from flows.reporting.events import CHALLENGER_REGISTERED, EVOLUTION_ENDED


@dataclass(frozen=True)
class Reaction:
    """An automation, found again by its name: a deployment (``flow/deployment``) that is run when an event occurs.

    The parameters are templates, filled in from the event.
    """

    name: str
    about: str
    event: str
    deployment: str
    parameters: Mapping[str, str | bool]


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
)


def register_automations(client: SyncPrefectClient) -> None:
    """Create the automations that are missing; one that is there is left as a person may have changed it.

    Parameters
    ----------
    client : SyncPrefectClient
        Of a server that knows the deployments already.

    Raises
    ------
    ObjectNotFound
        If a deployment is missing.
    """
    for reaction in REACTIONS:
        if client.find_automation(reaction.name) is not None:
            continue
        deployment = client.read_deployment_by_name(reaction.deployment)
        run = RunDeployment(
            source="selected", deployment_id=deployment.id, parameters=dict(reaction.parameters)
        )
        trigger = EventTrigger(expect={reaction.event}, posture=Posture.Reactive, threshold=1)
        client.create_automation(
            AutomationCore(
                name=reaction.name, description=reaction.about, enabled=True, trigger=trigger, actions=[run]
            )
        )
