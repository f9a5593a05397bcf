"""`bife up` as its users meet it: pages, forms, runs, schedules, a lost machine, and strangers at the door."""

import json
import os
import re
import secrets
import signal
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from bife_core.instances.config import FAMILIES
from bife_core.run.presets import preset
from bife_core.run.settings import NAMES
from bife_core.store import Store
from bife_core.store.home import Home
from bife_flows.operate.running import GONE
from bife_flows.operate.serving import DEPLOYMENTS, WORK_POOL
from tests.support.operating import FINAL, bife_up, processes_of, smoke, until

# A machine that is busy takes minutes for what takes seconds on an idle one.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_all_parts_answer_and_a_second_start_is_refused(operated, bife, monkeypatch):
    monkeypatch.setenv("BIFE_HOME", str(operated.home.root))
    for name, value in operated.variables.items():
        monkeypatch.setenv(name, value)
    status = bife("status")
    assert status.exit_code == 0, status.output
    lines = [line.split() for line in status.stdout.splitlines()]
    assert [line[0] for line in lines if "answers" in line] == ["Prefect", "MLflow", "worker"]
    assert operated.prefect in status.stdout
    assert str(operated.home.root) in status.stdout
    again = bife("up")
    refused = f"Error: BiFE is already up in {operated.home.root}; `bife down` stops it."
    assert (again.exit_code, again.stderr.startswith(refused)) == (1, True)


@pytest.mark.parametrize("path", ["prefect/api/flow_runs/count", "mlflow/api/2.0/mlflow/experiments/get"])
def test_strangers_are_turned_away(operated, path):
    which, _, rest = path.partition("/")
    address = f"{operated.prefect if which == 'prefect' else operated.mlflow}/{rest}"
    with httpx.Client(trust_env=False, timeout=30) as browser:
        assert browser.post(address, json={}).status_code in (401, 403)
        assert browser.get(address).status_code in (401, 405)
        evil = {"Origin": "http://evil.example.org"}
        answer = browser.post(address, json={}, auth=operated.auth, headers=evil)
        assert answer.status_code == 403
        assert answer.headers.get("access-control-allow-origin") is None
        asked = browser.options(address, headers=evil | {"Access-Control-Request-Method": "POST"})
        assert asked.headers.get("access-control-allow-origin") is None


def test_browsers_refuse_prefects_pages_other_machines(operated):
    page = httpx.get(f"{operated.prefect}/v2/dashboard", auth=operated.auth, trust_env=False)
    port = operated.prefect.rpartition(":")[2]
    policy = page.headers["Content-Security-Policy"].split()
    assert policy[:3] == ["connect-src", "'self'", f"http://127.0.0.1:{port}"]
    assert f"ws://localhost:{port}" in policy
    assert all(re.fullmatch(rf"(http|ws)://(127\.0\.0\.1|localhost):{port}", source) for source in policy[2:])


def test_each_deployment_has_a_form_of_the_settings(operated):
    for deployment in DEPLOYMENTS:
        name = deployment["name"]
        found = operated.page.deployment(name)
        assert found["enforce_parameter_schema"]
        assert found["tags"] == ["bife", name]
        assert found["work_pool_name"] == WORK_POOL
        assert found["version"]
        limit = found["global_concurrency_limit"]
        assert (limit or {}).get("limit") == deployment.get("concurrency_limit", {}).get("limit")
        schema = found["parameter_openapi_schema"]
        if "config" not in schema["properties"]:
            continue
        form = schema["properties"]["config"]["properties"]
        assert [*form] == ["preset", "instances", *NAMES, "advanced"]
        assert form["instances"]["anyOf"][0]["enum"] == [*FAMILIES]
    assert "CollectionSummary" not in json.dumps(operated.page.deployment("search"))
    nightly = operated.page.deployment("pipeline")["schedules"]
    assert [(entry["schedule"]["cron"], entry["active"]) for entry in nightly] == [("0 2 * * *", False)]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"samples": 0}, "config.samples'"),
        ({"search": "sudoku"}, "config.search'"),
        ({"wings": 2}, "'wings' was"),
        ({"search__population": "e9"}, "config.advanced"),
        ({"search__wings": 2}, "config.advanced"),
        ({}, "'rule' is a required property"),
    ],
)
def test_a_form_refuses_what_does_not_fit(operated, changed, sentence):
    answer = operated.page.start("evaluation" if "rule" in sentence else "pipeline", config=smoke(**changed))
    assert answer.status_code == 409
    assert sentence in answer.json()["detail"]


def test_prefect_takes_what_many_ask_at_once(operated):
    place = f"/deployments/{operated.page.deployment('pipeline')['id']}/create_flow_run"
    later = {"type": "SCHEDULED", "state_details": {"scheduled_time": "2099-01-01T00:00:00Z"}}
    with ThreadPoolExecutor(8) as starts:
        asked = [starts.submit(operated.page.client.post, place, json={"state": later}) for _ in range(40)]
    answers = [one.result() for one in asked]
    assert Counter(answer.status_code for answer in answers) == {201: 40}
    for answer in answers:
        operated.page.client.delete(f"/flow_runs/{answer.json()['id']}").raise_for_status()


@pytest.fixture
def operated_alone(tmp_path):
    """A `bife up` no other test has left results in."""
    with bife_up(Home(tmp_path / "alone")) as up:
        yield up


@pytest.mark.long
def test_a_run_outlives_the_loss_of_its_process_and_of_the_worker(operated_alone):
    started = operated_alone.page.start("pipeline", config=smoke()).raise_for_status().json()

    def journal():
        """What the search has written down."""
        store = Store(operated_alone.home.root)
        return [event for row in store.studies("search") for event in store.events(row.key)]

    def scored():
        run = operated_alone.page.run(started["id"])
        assert run["state_type"] not in FINAL, run["state"]
        return any(event.kind == "answered" and event.body["low"] for event in journal()) and run

    run = until(scored, "a score")
    worker = operated_alone.process("serving")
    os.kill(run["labels"]["bife.pid"], signal.SIGKILL)
    worker.kill()
    paid = journal()

    lost = operated_alone.page.end_of(started["id"])
    assert (lost["state_type"], lost["state"]["message"]) == ("CRASHED", GONE)
    below = operated_alone.page.runs(flow_runs={"parent_flow_run_id": {"any_": [started["id"]]}})
    assert {run["state_type"] for run in below} == {"COMPLETED", "CRASHED"}
    until(lambda: operated_alone.healthy, "a new worker")

    assert operated_alone.page.retry(started["id"])["status"] == "ACCEPT"
    ended = operated_alone.page.end_of(started["id"])
    assert (ended["state_type"], ended["run_count"]) == ("COMPLETED", 2), ended["state"]
    assert journal()[: len(paid)] == paid
    samples = preset("smoke").search.samples
    answers = [event.body for event in journal() if event.kind == "answered"]
    written = [body for body in answers if body["draft"] and not body["low"]]
    assert len(written) == samples, "each rule is written once"
    search = {"experiment_ids": ["1", "2", "3"], "max_results": 1000}
    runs = operated_alone.tracked("POST", "runs/search", **search)["runs"]
    kinds = [tag["value"] for run in runs for tag in run["data"]["tags"] if tag["key"] == "kind"]
    assert kinds.count("collection") == kinds.count("evaluation") == 1
    assert kinds.count("sample") <= samples

    os.kill(operated_alone.pid, signal.SIGKILL)
    until(lambda: processes_of(operated_alone.home) == [], "all that it started to end", 60)
    assert operated_alone.bife("up", "--detach").returncode == 0


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_list_shows_what_was_started_and_what_it_led_to_and_nothing_else(operated_alone):
    page = operated_alone.page
    for seed in range(3):
        page.end_well("search", config=smoke(seed=seed))
    page.end_well("collection", config=smoke())

    def listed():
        """The runs that no other run called, as the page lists them."""
        top = {"flow_runs": {"parent_task_run_id": {"is_null_": True}}, "limit": 200}
        return Counter(run["name"].partition(" ")[0] for run in page.ask("POST", "/flow_runs/filter", **top))

    # A search leads to the evaluation of its rule, and that to a promotion where it made a challenger.
    until(lambda: listed()["evaluation"] == 3, "the evaluations")
    under_way = {"state": {"type": {"any_": ["SCHEDULED", "PENDING", "RUNNING"]}}}
    until(lambda: not page.runs(flow_runs=under_way), "the end")
    assert {**listed(), "promotion": 0} == {"search": 3, "collection": 1, "evaluation": 3, "promotion": 0}
    lacks = json.loads(operated_alone.bife("track").stdout.rpartition(": ")[2].split()[0])
    assert lacks == 0  # all of it is in MLflow, without a run of its own


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_each_deployment_that_needs_no_answer_ends_well_with_nothing_filled_in(operated_alone):
    page, names = operated_alone.page, [deployment["name"] for deployment in DEPLOYMENTS]
    answers = {name: page.start(name) for name in names if name != "watch"}
    refused = [name for name, answer in answers.items() if answer.status_code == 409]
    assert refused == ["evaluation", "promotion", "rollback"]
    for name in set(answers) - set(refused):
        ended = page.end_of(answers[name].json()["id"])
        assert ended["state_type"] == "COMPLETED", (name, ended["state"])
    watched = page.end_of(page.start("watch").json()["id"])
    assert watched["state_type"] == "COMPLETED" or "has no champion" in watched["state"]["message"]


def test_a_schedule_starts_runs_by_itself(operated):
    page, deployment = operated.page, operated.page.deployment("collection")
    soon = {"interval": 3600.0, "anchor_date": (datetime.now(UTC) + timedelta(seconds=8)).isoformat()}
    schedule = {"schedule": soon, "active": True, "max_scheduled_runs": 2}
    body = [schedule | {"parameters": {"config": smoke()}}]
    made = page.client.post(f"/deployments/{deployment['id']}/schedules", json=body).raise_for_status()

    def ended_well():
        runs = page.runs_of("collection")
        return [run for run in runs if run["auto_scheduled"] and run["state_type"] == "COMPLETED"]

    try:
        until(ended_well, "a scheduled run to end well")
    finally:
        page.client.delete(f"/deployments/{deployment['id']}/schedules/{made.json()[0]['id']}")


@pytest.mark.long
def test_both_servers_ask_other_machines_for_the_password_and_a_run_is_tracked(tmp_path):
    auth = ("operator", secrets.token_urlsafe(12))
    with (
        bife_up(Home(tmp_path), "--host", "0.0.0.0", auth=auth) as up,
        httpx.Client(trust_env=False, timeout=30) as browser,
    ):
        host = socket.gethostbyname(socket.gethostname())
        for address, path in ((up.prefect, "api/admin/version"), (up.mlflow, "")):
            page = f"http://{host}:{address.rpartition(':')[2]}/{path}"
            given = (None, ("operator", "guessed"), auth)
            assert [browser.get(page, auth=one).status_code for one in given] == [401, 401, 200]
        evil = {"Host": "evil.example.org"}
        assert browser.get(up.mlflow, auth=auth, headers=evil).status_code == 403
        up.page.end_well("collection", config=smoke())
        experiment = up.tracked("GET", "experiments/get-by-name", experiment_name="bife-collection")
        number = experiment["experiment"]["experiment_id"]
        found = up.tracked("POST", "runs/search", experiment_ids=[number])["runs"]
        assert [run["info"]["status"] for run in found] == ["FINISHED"]
        logs = up.home.root / "logs"
        assert not [log for log in logs.iterdir() if auth[1] in log.read_text(errors="replace")]
