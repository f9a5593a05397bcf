"""Automations on a real Prefect server: made once, and fired by an event."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.settings import PREFECT_API_URL, temporary_settings

from bife_core.presets import preset
from flows.evaluation import evaluation
from flows.operate.automations import REACTIONS, register_automations
from flows.operate.events import EVOLUTION_ENDED, announce
from flows.promotion import promotion
from tests.support.operating import own_prefect

LIMIT_S = 90.0


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SyncPrefectClient]:
    """A client of a Prefect server that knows two deployments; the embedded API has no automations."""
    with own_prefect(tmp_path) as variables:
        address = variables["PREFECT_API_URL"]
        monkeypatch.setenv("PREFECT_API_URL", address)
        with temporary_settings({PREFECT_API_URL: address}), get_client(sync_client=True) as client:
            for stage in (evaluation, promotion):
                stage.to_deployment(stage.name).apply()
            yield client


@flow(name="announcing")
def announcing(payload: dict[str, Any]) -> None:
    """Announce the end of an evolution."""
    announce(EVOLUTION_ENDED, "evolution.test", payload)


def test_the_end_of_an_evolution_starts_an_evaluation_of_its_rule(served):
    register_automations(served)
    register_automations(served)
    made = [known for known in served.read_automations() if known.name.startswith("bife:")]
    assert sorted(known.name for known in made) == sorted(reaction.name for reaction in REACTIONS)

    config = preset("smoke").model_dump(mode="json")
    rule = f"runs:/{'0' * 32}"
    announcing({"rule": rule, "config": config})
    deployment = served.read_deployment_by_name("evaluation/evaluation")
    wanted = {"flow_runs": {"deployment_id": {"any_": [str(deployment.id)]}}}
    deadline = time.monotonic() + LIMIT_S
    while not (found := served.request("POST", "/flow_runs/filter", json=wanted).json()):
        assert time.monotonic() < deadline, "no evaluation was started"
        time.sleep(0.5)
    assert found[0]["parameters"] == {"config": config, "rule": rule, "as_challenger": True}
