"""Approval and rollback on a real Prefect server, answered through its API as the page does."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from prefect.client.orchestration import get_client

from bife_core.base.errors import ConfigError
from bife_core.registry.base import GATE, PromotionError
from bife_core.registry.evidence import CHALLENGER, CHAMPION, UNGATED
from bife_core.solver.methods.references import stored_text
from bife_flows.promotion import promotion, rollback, summary
from bife_flows.reporting.conductor import tracker
from bife_tasks.registry.mlflow_registry import IN_MLFLOW
from bife_tasks.tracking import mlflow_runs
from tests.support.challenging import beside, challenge, made_champion, source

pytestmark = pytest.mark.usefixtures("prepared")

LIMIT_S = 120.0


def tags(name, version):
    return dict(mlflow_runs.client().get_model_version(name, str(version)).tags)


@pytest.fixture
def addressed(monkeypatch):
    """Prefect's API as a server on this machine, known by its address."""
    with get_client(sync_client=True) as client:
        monkeypatch.setenv("PREFECT_API_URL", str(client.api_url))


def paused(name, flow="promotion"):
    """Wait until the promotion, or rollback, of `name` waits for an answer, and return its run's id."""
    wanted = {"flow_runs": {"name": {"any_": [f"{flow} {name}"]}, "state": {"type": {"any_": ["PAUSED"]}}}}
    deadline = time.monotonic() + LIMIT_S
    with get_client(sync_client=True) as client:
        while time.monotonic() < deadline:
            found = client.request("POST", "/flow_runs/filter", json=wanted).json()
            if found:
                return str(found[0]["id"])
            time.sleep(0.2)
    raise AssertionError(f"The promotion of {name} did not ask for approval.")


def answer(run_id, given):
    with get_client(sync_client=True) as client:
        reply = client.request("POST", f"/flow_runs/{run_id}/resume", json={"run_input": given})
    return dict(reply.json())


@pytest.fixture
def asking(addressed, monkeypatch):
    """Start a promotion, or a rollback of a version, that asks a person, and return what it will end with."""
    monkeypatch.setattr("bife_flows.promotion._POLL_S", 0.2)
    threads = ThreadPoolExecutor(1)

    def start(name, version=None):
        if version is None:
            return threads.submit(promotion, name, "person", 0.1)
        return threads.submit(rollback, name, "It is slower.", "", version, 0.1)

    return start


def test_one_challenger_is_approved_another_rejected_and_the_champion_goes_back(name, asking):
    first = challenge(name, 0).version
    assert promotion(name, "gate").by == GATE
    second = challenge(name, 1, ratio=0.6, **beside(0)).version
    outcome = asking(name)
    run_id = paused(name)
    assert IN_MLFLOW.find(name, CHAMPION).version == first
    refused = answer(run_id, {"decision": "perhaps", "reason": "?", "who": "Ada"})
    assert refused["status"] == "REJECT"
    answer(run_id, {"decision": "approve", "reason": "faster on our models", "who": "Ada"})
    decision = outcome.result(LIMIT_S)
    assert (decision.version, decision.champion, decision.by) == (second, True, "Ada")
    assert stored_text(f"models:/{name}@champion") == source(1)
    known = tags(name, second)
    assert (known["approved_by"], known["approved_reason"]) == ("Ada", "faster on our models")

    third = challenge(name, 2, ratio=0.5, **beside(1)).version
    outcome = asking(name)
    answer(paused(name), {"decision": "reject", "reason": "reads too many features", "who": "Ada"})
    assert not outcome.result(LIMIT_S).champion
    assert IN_MLFLOW.find(name, CHALLENGER) is None
    assert tags(name, third)["rejected_reason"] == "reads too many features"

    back = rollback(name, "slow on the new models", "Grace")
    assert back.version == first
    assert tags(name, second)["rolled_back_by"] == "Grace"
    assert not rollback(name, "again", "Grace").champion
    with pytest.raises(PromotionError, match="has no champion"):
        rollback(name, "and again", "Grace")


@pytest.mark.parametrize(("decision", "left"), [("reject", True), ("approve", False)])
def test_a_person_decides_whether_a_champion_that_became_slower_stays(name, asking, decision, left):
    version = made_champion(name, 0).version
    outcome = asking(name, version)
    given = {"decision": decision, "reason": "as measured", "who": "Ada"}
    answer(paused(name, "rollback"), given)
    change = outcome.result(LIMIT_S)
    assert (change.champion, change.by, change.reason) == (left, "Ada", "as measured")
    champion = IN_MLFLOW.find(name, CHAMPION)
    assert (champion and champion.version) == (version if left else None)
    known = [tags(name, version).get(f"{word}_by") for word in ("rolled_back", "kept")]
    assert known == ([None, "Ada"] if left else ["Ada", None])


def test_nobody_is_asked_about_a_rule_that_fails_the_gate_or_without_a_server(name, monkeypatch):
    challenge(name, 0)
    with pytest.raises(ConfigError, match="bife up"):
        promotion(name, "person")
    with get_client(sync_client=True) as client:
        monkeypatch.setenv("PREFECT_API_URL", str(client.api_url))
    challenge(f"{name}-2", 0, ci_high=1.2)
    decision = promotion(f"{name}-2", "person")
    assert (decision.champion, decision.by) == (False, GATE)
    assert IN_MLFLOW.find(f"{name}-2", CHALLENGER) is not None
    assert IN_MLFLOW.find(f"{name}-2", CHAMPION) is None


def test_the_page_says_that_the_champion_never_passed_the_gate(name):
    IN_MLFLOW.set_alias(name, CHAMPION, challenge(name, 0).version)
    challenge(name, 1, **beside(0))
    assert f" Version 1 is champion now{UNGATED}." in summary(IN_MLFLOW.open_case(name), tracker())
