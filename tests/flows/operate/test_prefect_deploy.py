"""`prefect deploy --all` against a server of the user's own, and a worker that runs what it deployed."""

import sys
from pathlib import Path

import pytest

from bife_flows.operate.servers import Server
from bife_flows.operate.serving import AUTOMATIONS, DEPLOYMENTS, FILES
from tests.support.operating import Patient, PrefectPage, own_prefect, smoke, until
from tests.support.programs import python

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture
def variables(tmp_path):
    """The environment of a user whose Prefect server is not BiFE's: nothing of it lies in BiFE's home."""
    with own_prefect(tmp_path) as inherited:
        yield inherited


def prefect(variables, *arguments):
    done = python("-m", "prefect", *arguments, home=Path(variables["BIFE_HOME"]), cwd=FILES, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_file_makes_all_deployments_and_a_worker_runs_them(variables, tmp_path):
    before = (FILES / "prefect.yaml").read_text(encoding="utf-8")
    prefect(variables, "work-pool", "create", "bife", "--type", "process")
    prefect(variables, "--no-prompt", "deploy", "--all")
    prefect(variables, "automation", "create", "--from-file", "prefect-automations.yaml")
    made = prefect(variables, "automation", "ls")
    assert made.count("bife:") == sum(len(deployment.get("triggers", [])) for deployment in DEPLOYMENTS) + 1
    assert made.count("bife alert:") == len(AUTOMATIONS) - 1
    assert (FILES / "prefect.yaml").read_text(encoding="utf-8") == before
    page = PrefectPage(variables["PREFECT_API_URL"].removesuffix("/api"), transport=Patient())
    for deployment in DEPLOYMENTS:
        made = page.deployment(deployment["name"])
        assert {name: made[name] for name in ("entrypoint", "tags", "description")} == {
            name: deployment[name] for name in ("entrypoint", "tags", "description")
        }
        assert made["enforce_parameter_schema"]
        assert made["parameters"] == deployment.get("parameters", {})
    assert page.start("collection", config=smoke(samples=0)).status_code == 409

    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "bife"]
    variables |= {"PREFECT_WORKER_QUERY_SECONDS": "2"}
    worker = Server("worker", command, variables, "", tmp_path / "worker.log")
    try:
        ended = page.end_well("search", config=smoke(seed=None))
        assert "is the best of" in ended["state"]["message"]
        # The automations of the file: an evaluation follows by itself.
        compared = until(lambda: page.runs_of("evaluation"), "an evaluation to be started")
        assert page.end_of(compared[0]["id"])["state_type"] == "COMPLETED"
        assert len(page.runs_of("evaluation")) == 1
    finally:
        worker.stop()
    assert [*Path(variables["BIFE_HOME"]).glob("decisions/*")]
