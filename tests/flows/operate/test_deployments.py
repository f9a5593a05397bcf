"""`prefect.yaml` fits the flows, a server keeps what a person changed, and events start what they should."""

from __future__ import annotations

import json
import uuid
from pkgutil import resolve_name
from typing import Any

import pytest
from prefect import flow
from prefect.client.schemas.actions import DeploymentUpdate, WorkPoolUpdate

from bife_core.run.presets import preset, with_overrides
from bife_core.run.settings import configuration, settings_of
from bife_core.run.stages.resolve import resolved
from bife_core.run.stages.runtime import Runtime
from bife_core.run.stages.search import NEARLY_USED, NO_RULE, SEARCH_ENDED
from bife_core.run.stages.tune import tune
from bife_core.run.stages.watch import CHAMPION_SLOWER
from bife_core.store.home import Home
from bife_flows.operate.running import GONE
from bife_flows.operate.serving import AUTOMATIONS, DEPLOYMENTS, WORK_POOL, register
from bife_flows.reporting.artifacts import overview_place
from bife_flows.reporting.conductor import NOTHING_TO_DO, PrefectConductor
from tests.support.operating import until

LATER = ", not all of it in MLflow"
ALERTS = AUTOMATIONS[1:]
AGAIN = [deployment | {"name": f"{deployment['name']}-again", "triggers": []} for deployment in DEPLOYMENTS]
"""Under names of their own, so that other tests find the deployments as `bife up` made them."""


def test_forms_fit_the_flows_and_are_filled_with_the_quick_preset_and_another_seed_for_each_run():
    quick = preset("quick")
    anew = quick.model_copy(update={"search": quick.search.model_copy(update={"seed": None})})
    filled = [deployment["parameters"]["config"] for deployment in DEPLOYMENTS if "parameters" in deployment]
    assert [configuration(settings) for settings in filled] == [anew] * 5
    for deployment in DEPLOYMENTS:
        form = resolve_name(deployment["entrypoint"]).parameters.model_dump()
        triggers = deployment.get("triggers", [])
        expected = {name for trigger in triggers for name in trigger["parameters"]}
        assert form["properties"].keys() >= deployment.get("parameters", {}).keys() | expected


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda deployment: deployment["name"])
def test_a_form_says_what_each_parameter_and_section_is_and_what_the_presets_have(deployment):
    fields = resolve_name(deployment["entrypoint"]).parameters.model_dump(exclude_unset=True)["properties"]
    assert [name for name, field in fields.items() if not field.get("description")] == []
    assert '"type": "null"' not in json.dumps({name: fields[name] for name in fields if name != "config"})
    if "config" not in fields:
        return
    usual, own = fields["config"]["properties"]["advanced"]["anyOf"]
    assert usual | {"title": ""} == {
        "title": "", "type": "object", "properties": {}, "additionalProperties": False
    }, "of a type without values Prefect's form shows nothing else"  # fmt: skip
    for name, section in own["properties"].items():
        assert section["description"].endswith("."), name
        assert all("Default: " in field["description"] for field in section["properties"].values())
    about = own["properties"]["high"]["properties"]["instances"]["description"]
    assert about.endswith("Default: 2 (smoke), 6 (quick), 20 (paper).")


def test_what_a_deployment_is_filled_in_with_is_resolved_and_tuned(tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_STORE", str(tmp_path))
    runtime = Runtime(Home(tmp_path))
    tiny = {"instances.size": "tiny", "tune.instances": 1, "tune.seconds": 1}
    filled = {json.dumps(each["parameters"]["config"]) for each in DEPLOYMENTS if "parameters" in each}
    for settings in filled:
        config = resolved(configuration(json.loads(settings)), runtime)
        assert config.tune.seconds, "no form shows the settings of a tuned pipeline"
        assert len(tune(with_overrides(config, tiny), runtime, 1.0).tuning.trials) > 1


@pytest.mark.parametrize(
    ("state", "ended"),
    [
        *((f"{name}{later}", True) for name in ("Completed", NOTHING_TO_DO) for later in ("", LATER)),
        *((name, True) for name in ("Failed", "Crashed", "Cancelled", "Suspended", "AwaitingRetry")),
        *((name, False) for name in ("Running", "Cancelling")),
    ],
)
def test_no_run_that_has_ended_is_taken_for_lost(state, ended):
    from prefect.server.events.schemas.automations import EventTrigger

    lost_runs = AUTOMATIONS[0]
    assert (lost_runs.enabled, lost_runs.actions[0].message) == (True, GONE)
    on_the_server = EventTrigger.model_validate(lost_runs.trigger.model_dump(mode="json"))
    assert on_the_server.expects(f"prefect.flow-run.{state}") == ended


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_registering_again_keeps_what_a_person_changed_and_renews_the_rest(served):
    assert register(served, AGAIN) == []
    made = served.read_deployment_by_name("pipeline/pipeline-again")
    assert made.parameters == AGAIN[3]["parameters"]
    assert made.description.endswith(f"\n\n[Overview](/v2{overview_place(served)})")
    smaller = {"preset": "smoke", "samples": 4}
    mine = {"parameters": {"config": smaller}, "tags": ["mine"], "concurrency_limit": 3}
    served.update_deployment(made.id, DeploymentUpdate(**mine, description="gone", version="0"))
    served.update_deployment_schedule(made.id, made.schedules[0].id, active=True)
    for name, parameters in (
        ("search/search-again", {"config": {"advanced": {"search": {"wings": 2}}}}),
        ("collection/collection-again", {}),
    ):
        outdated = DeploymentUpdate(parameters=parameters, enforce_parameter_schema=False)
        served.update_deployment(served.read_deployment_by_name(name).id, outdated)

    (note,) = register(served, AGAIN)
    assert note.startswith("The parameters of search-again no longer fit and were replaced: ")
    assert "'wings' was unexpected" in note
    kept = served.read_deployment_by_name("pipeline/pipeline-again")
    assert (kept.id, kept.parameters, kept.tags) == (made.id, {"config": smaller}, ["mine"])
    assert kept.global_concurrency_limit.limit == 3
    assert [schedule.active for schedule in kept.schedules] == [True]
    assert (kept.description, kept.version) == (made.description, made.version)
    for number, name in ((0, "collection/collection-again"), (1, "search/search-again")):
        renewed = served.read_deployment_by_name(name)
        assert renewed.parameters == AGAIN[number]["parameters"]
        assert renewed.enforce_parameter_schema


@pytest.fixture
def idle(served):
    """A server on which runs are made and none is begun."""
    served.update_work_pool(WORK_POOL, WorkPoolUpdate(is_paused=True))
    yield served
    served.update_work_pool(WORK_POOL, WorkPoolUpdate(is_paused=False))


@flow(name="telling")
def telling(event: str, payload: dict[str, Any]) -> None:
    """Emit an event as a flow does."""
    PrefectConductor().announce(event, "test", payload)


def started(client, deployment, **parameters):
    """Wait until a deployment has a run with these parameters, remove it, and return all its parameters."""
    made = client.read_deployment_by_name(f"{deployment}/{deployment}")
    wanted = {"flow_runs": {"deployment_id": {"any_": [str(made.id)]}}}

    def runs():
        every = client.request("POST", "/flow_runs/filter", json=wanted).json()
        return [run for run in every if parameters.items() <= run["parameters"].items()]

    (run,) = until(runs, f"a run of {deployment}", 90)
    client.delete_flow_run(run["id"])
    return dict(run["parameters"])


SEARCHED = {"rule": f"runs:/{uuid.uuid4().hex}", "config": settings_of(preset("smoke"))}
SLOWER = {"name": f"bife-test-{uuid.uuid4().hex[:8]}", "version": 3, "reason": "It is slower."}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("event", "payload", "deployment", "more"),
    [
        (SEARCH_ENDED, SEARCHED, "evaluation", {"as_challenger": True}),
        (CHAMPION_SLOWER, SLOWER, "rollback", {}),
    ],
)
def test_an_event_starts_a_run_with_what_it_tells(idle, event, payload, deployment, more):
    telling(event, payload)
    key = next(iter(payload))
    assert started(idle, deployment, **{key: payload[key]}) == payload | more


def test_alerts_are_switched_off_and_leave_the_notification_to_the_operator():
    assert len(ALERTS) == 5
    assert {alert.enabled for alert in ALERTS} == {False}
    assert [action.type for alert in ALERTS for action in alert.actions] == ["do-nothing"] * 5


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("event", [NO_RULE, NEARLY_USED, "bife.champion.changed"])
def test_an_alert_that_is_switched_on_fires_on_the_event_of_a_flow(operated, served, event):
    (alert,) = (alert for alert in ALERTS if alert.trigger.expect == {event})
    made = served.find_automation(alert.name)
    assert not made.enabled
    served.resume_automation(made.id)
    try:
        telling(event, {"reason": "A test."})
        until(lambda: operated.page.triggered(str(made.id)), "the alert", 90)
    finally:
        served.pause_automation(made.id)
