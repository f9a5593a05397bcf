"""Automations on a real Prefect server: made once, and fired by an event."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from prefect import flow
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import WorkPoolUpdate
from prefect.events.schemas.automations import AutomationCore
from prefect.server.events.schemas.automations import EventTrigger

from bife_core.presets import preset
from flows.operate.deployments import DEPLOYMENTS, LOST_RUNS, WORK_POOL, register_automations
from flows.reporting.events import EVOLUTION_ENDED, announce
from tasks.states import NOTHING_TO_DO, WAITING

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

LIMIT_S = 90.0
NAMES = [trigger["name"] for deployment in DEPLOYMENTS for trigger in deployment.triggers]


@pytest.fixture
def idle(served: SyncPrefectClient) -> Iterator[SyncPrefectClient]:
    """A server on which runs are made and none is begun."""
    served.update_work_pool(WORK_POOL, WorkPoolUpdate(is_paused=True))
    yield served
    served.update_work_pool(WORK_POOL, WorkPoolUpdate(is_paused=False))


@flow(name="announcing")
def announcing(payload: dict[str, Any]) -> None:
    """Announce the end of an evolution."""
    announce(EVOLUTION_ENDED, "evolution.test", payload)


@pytest.mark.parametrize(
    ("state", "ended"),
    [
        *((name, True) for name in ("Completed", "Completed, not all of it in MLflow", NOTHING_TO_DO)),
        (f"{NOTHING_TO_DO}, not all of it in MLflow", True),
        *((name, True) for name in ("Failed", "Crashed", "Cancelled", "Suspended", "AwaitingRetry")),
        *((name, False) for name in ("Running", WAITING, "Cancelling")),
    ],
)
def test_no_run_that_has_ended_is_taken_for_lost(state, ended):
    on_the_server = EventTrigger.model_validate(LOST_RUNS.trigger.model_dump(mode="json"))
    assert on_the_server.expects(f"prefect.flow-run.{state}") == ended


def test_what_an_earlier_version_made_is_removed_and_what_a_person_made_is_not(idle):
    register_automations(idle)
    ours = idle.find_automation(NAMES[0])
    assert ours is not None
    core = AutomationCore.model_validate(ours.model_dump(exclude={"id"}))
    idle.create_automation(core.model_copy(update={"name": "bife: of old"}))
    idle.create_automation(core.model_copy(update={"name": "my own"}))
    register_automations(idle)
    assert idle.find_automation("bife: of old") is None
    mine = idle.find_automation("my own")
    assert mine is not None
    idle.delete_automation(mine.id)
    assert idle.find_automation(NAMES[0]) == ours


def test_the_end_of_an_evolution_starts_an_evaluation_of_its_rule(idle):
    register_automations(idle)
    made = [known for known in idle.read_automations() if known.name.startswith("bife:")]
    assert sorted(known.name for known in made) == sorted([LOST_RUNS.name, *NAMES])

    config = preset("smoke").model_dump(mode="json")
    rule = f"runs:/{uuid.uuid4().hex}"
    announcing({"rule": rule, "config": config})
    deployment = idle.read_deployment_by_name("evaluation/evaluation")
    wanted = {"flow_runs": {"deployment_id": {"any_": [str(deployment.id)]}}}

    def made_runs() -> list[dict[str, Any]]:
        runs: list[dict[str, Any]] = idle.request("POST", "/flow_runs/filter", json=wanted).json()
        return runs

    deadline = time.monotonic() + LIMIT_S
    while not (found := [run for run in made_runs() if run["parameters"].get("rule") == rule]):
        assert time.monotonic() < deadline, "no evaluation was started"
        time.sleep(0.5)
    idle.delete_flow_run(found[0]["id"])
    assert found[0]["parameters"] == {"config": config, "rule": rule, "as_challenger": True}
