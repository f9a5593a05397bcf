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

from bife_core.presets import preset
from flows.operate.automations import LOST_RUNS, REACTIONS, register_automations
from flows.operate.deployments import WORK_POOL
from flows.reporting.events import EVOLUTION_ENDED, announce

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

LIMIT_S = 90.0


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


def test_the_end_of_an_evolution_starts_an_evaluation_of_its_rule(idle):
    register_automations(idle)
    made = [known for known in idle.read_automations() if known.name.startswith("bife:")]
    assert sorted(known.name for known in made) == sorted(
        [LOST_RUNS.name, *(reaction.name for reaction in REACTIONS)]
    )

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
