"""`bife up --host 0.0.0.0`: other machines are let in with the password, and all works as on the loopback."""

from __future__ import annotations

import secrets
import socket

import httpx
import pytest

from flows.operate.deployments import DEPLOYMENTS
from tasks.home import Home
from tests.support.operating import bife_up, smoke

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def test_both_servers_ask_for_the_password_and_a_run_is_tracked(tmp_path):
    auth = ("operator", secrets.token_urlsafe(12))
    with (
        bife_up(Home(tmp_path), "--host", "0.0.0.0", auth=auth) as up,
        httpx.Client(trust_env=False, timeout=30) as browser,
    ):
        assert up.healthy
        for host in ("127.0.0.1", socket.gethostbyname(socket.gethostname())):
            for address, path in ((up.prefect, "api/admin/version"), (up.mlflow, "")):
                page = f"http://{host}:{address.rpartition(':')[2]}/{path}"
                assert browser.get(page).status_code == 401
                assert browser.get(page, auth=("operator", "guessed")).status_code == 401
                assert browser.get(page, auth=auth).status_code == 200
        evil = {"Host": "evil.example.org"}
        assert browser.get(up.mlflow, auth=auth, headers=evil).status_code == 403

        for deployment in DEPLOYMENTS:
            assert up.page.deployment(deployment.name)["status"] == "READY"
        ended = up.page.end_well("collection", config=smoke())
        assert "decisions" in ended["state"]["message"]
        experiment = up.tracked("GET", "experiments/get-by-name", experiment_name="bife-collection")
        number = experiment["experiment"]["experiment_id"]
        found = up.tracked("POST", "runs/search", experiment_ids=[number])["runs"]
        assert [run["info"]["status"] for run in found] == ["FINISHED"]
        logs = up.home.root / "logs"
        assert not [log for log in logs.iterdir() if auth[1] in log.read_text(errors="replace")]
