"""A promotion started from Prefect's page: it waits without a process, and a person's answer decides."""

import uuid

import psutil
import pytest

from bife_flows.operate.serving import AUTOMATIONS
from tests.support.challenging import beside, challenge_in, source
from tests.support.operating import until

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def start(operated, name):
    """Have a person asked about a challenger, and return the run that waits for the answer."""
    return waiting(operated, operated.page.start("promotion", name=name).raise_for_status().json()["id"])


def waiting(operated, run_id, besides=""):
    """Return a run that waits for a person: suspended, and its process gone."""

    def asks():
        run = operated.page.run(run_id)
        assert run["state_type"] not in ("FAILED", "CRASHED", "COMPLETED"), run["state"]
        # Prefect suspends it without a message.
        said = run["state"]["message"] and run["state"]["id"] != besides
        return run["state_name"] == "Suspended" and said and run

    run = until(asks, "a person to be asked")
    assert run["state"]["message"].endswith("open the menu at the top right of its page, then Resume.")
    pid = run["labels"]["bife.pid"]
    until(lambda: not psutil.pid_exists(pid), "the process of the run to end")
    return run


def question(operated, run):
    """Return what Prefect's page shows above the form of a run that waits."""
    key = run["state"]["state_details"]["run_input_keyset"]["description"]
    return operated.page.client.get(f"/flow_runs/{run['id']}/input/{key}").raise_for_status().json()


def version(operated, name, number):
    rule = operated.tracked("GET", "model-versions/get", name=name, version=str(number))["model_version"]
    return {tag["key"]: tag["value"] for tag in rule["tags"]} | {"aliases": rule.get("aliases", [])}


@pytest.fixture
def name(operated):
    """A model whose first version is champion by the numbers alone."""
    made = f"bife-test-{uuid.uuid4().hex[:8]}"
    challenge_in(operated.home.root, made, 0)
    operated.page.end_well("promotion", name=made, approval="gate")
    assert version(operated, made, 1)["approved_by"] == "the statistical gate"
    return made


def test_an_answer_is_about_the_version_the_person_saw(operated, name):
    challenge_in(operated.home.root, name, 1, **beside(0))
    run = start(operated, name)
    asked = question(operated, run)
    assert f"Version 2 of **{name}** passes the statistical gate." in asked
    assert source(1).strip() in asked
    malformed = operated.page.resume(run["id"], decision="perhaps", reason="?", who="Ada")
    assert malformed["status"] == "REJECT"

    # While the person thinks, another rule becomes challenger: approving the one they saw does not promote it.
    challenge_in(operated.home.root, name, 2, **beside(0))
    answer = operated.page.resume(run["id"], decision="approve", reason="faster", who="Ada")
    assert answer["status"] == "ACCEPT"
    again = waiting(operated, run["id"], besides=run["state"]["id"])
    assert "Version 3" in question(operated, again)
    assert version(operated, name, 1)["aliases"] == ["champion"]

    # Another operator had the same asked: both runs say what came of it.
    other = start(operated, name)
    operated.page.resume(run["id"], decision="reject", reason="reads too many features", who="Ada")
    ended = operated.page.end_of(run["id"])
    assert ended["state"]["message"] == "Version 3 was refused by Ada: reads too many features"
    elsewhere = operated.page.end_of(other["id"])["state"]
    assert elsewhere["message"] == f"Answered in another run. {ended['state']['message']}"
    assert (
        operated.page.resume(other["id"], decision="approve", reason="late", who="Bob")["status"] == "ABORT"
    )
    refused = version(operated, name, 3)
    assert (refused["rejected_by"], refused["rejected_reason"]) == ("Ada", "reads too many features")
    assert refused["aliases"] == []
    assert version(operated, name, 1)["aliases"] == ["champion"]


def test_the_alert_fires_when_a_person_has_not_answered_in_time(operated, name):
    alert = next(each for each in AUTOMATIONS if "not answered" in each.name).model_dump(mode="json")
    soon = alert | {"name": name, "enabled": True, "trigger": alert["trigger"] | {"within": 10}}
    made = operated.page.ask("POST", "/automations/", **soon)
    challenge_in(operated.home.root, name, 1, **beside(0))
    run = start(operated, name)
    (fired,) = until(lambda: operated.page.triggered(made["id"]), "the alert", 90)
    assert fired["payload"]["triggering_event"]["resource"]["prefect.resource.id"].endswith(run["id"])
    operated.page.resume(run["id"], decision="reject", reason="late", who="Ada")
    operated.page.end_of(run["id"])
    operated.page.client.delete(f"/automations/{made['id']}")
