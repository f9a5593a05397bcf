"""Everything `bife up` starts, real, once for all tests here; and its API, used as Prefect's page uses it."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from flows.cli.servers import free_port
from flows.cli.stack import end_marked, read_state
from tasks.home import Home
from tests.flows.cli.conftest import PROGRAM, environment

AUTH = ("operator", secrets.token_urlsafe(12))
FINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


class PrefectPage:
    """What Prefect's page asks its server for."""

    def __init__(self, address: str) -> None:
        self.client = httpx.Client(base_url=f"{address}/api", auth=AUTH, timeout=60.0, trust_env=False)
        token = self.client.get("/csrf-token", params={"client": "tests"}).raise_for_status().json()
        self.client.headers.update({"Prefect-Csrf-Token": token["token"], "Prefect-Csrf-Client": "tests"})

    def deployment(self, name: str) -> dict[str, Any]:
        return self.client.get(f"/deployments/name/{name}/{name}").raise_for_status().json()

    def start(self, deployment: str, **parameters: Any) -> httpx.Response:
        """Press "Run" in a deployment's form."""
        body = {"parameters": parameters, "state": {"type": "SCHEDULED"}}
        return self.client.post(
            f"/deployments/{self.deployment(deployment)['id']}/create_flow_run", json=body
        )

    def retry(self, run_id: str) -> dict[str, Any]:
        """Press "Retry" on a run's page."""
        state = {"type": "SCHEDULED", "name": "AwaitingRetry", "message": "Retry from the page"}
        answer = self.client.post(f"/flow_runs/{run_id}/set_state", json={"state": state})
        return answer.raise_for_status().json()

    def run(self, run_id: str) -> dict[str, Any]:
        return self.client.get(f"/flow_runs/{run_id}").raise_for_status().json()

    def runs(self, **chosen: Any) -> list[dict[str, Any]]:
        return self.client.post("/flow_runs/filter", json=chosen).raise_for_status().json()

    def end_of(self, run_id: str) -> dict[str, Any]:
        """Wait for a run's end."""
        until(lambda: self.run(run_id)["state_type"] in FINAL, f"the end of run {run_id}")
        return self.run(run_id)


def until(condition: Callable[[], Any], what: str, limit_s: float = 400.0) -> Any:
    """Wait until something holds and return it."""
    deadline = time.monotonic() + limit_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {limit_s:g} s for {what}"
        time.sleep(0.2)
    return found


@dataclass(frozen=True)
class Operated:
    """A home in which `bife up` runs."""

    home: Home
    prefect: str
    mlflow: str
    auth: tuple[str, str]
    page: PrefectPage

    def bife(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return _bife(self.home.root, *arguments)

    def status(self) -> dict[str, Any]:
        return json.loads(self.bife("status", "--json").stdout)


def _bife(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        env=environment(
            home,
            BIFE_SERVER_AUTH=":".join(AUTH),
            # Prefect looks for new schedules once a minute.
            PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS="2",
        ),
        capture_output=True,
        text=True,
        timeout=700,
        check=False,
    )


@pytest.fixture(scope="session")
def operated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operated]:
    home = Home(tmp_path_factory.mktemp("operated"))
    ports = {"--prefect-port": str(free_port(0)), "--mlflow-port": str(free_port(0))}
    try:
        started = _bife(home.root, "up", "--detach", *(text for option in ports.items() for text in option))
        assert started.returncode == 0, started.stderr + started.stdout
        prefect, mlflow = (f"http://127.0.0.1:{port}" for port in ports.values())
        assert prefect in started.stdout
        assert mlflow in started.stdout
        page = PrefectPage(prefect)
        yield Operated(home, prefect, mlflow, AUTH, page)
        page.client.close()
        mark = read_state(home).mark
        stopped = _bife(home.root, "down")
        assert stopped.stdout.startswith("Stopped.")
        assert end_marked(mark) == 0
        assert not os.path.exists(home.root / "up.json")  # noqa: PTH110
    finally:
        _bife(home.root, "down")  # does nothing where the above was reached
