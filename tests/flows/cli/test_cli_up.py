"""`bife up`, `bife down` and `bife status` without servers; the whole is tested in tests/flows/operate."""

from __future__ import annotations

import pytest

from bife_core.home import Home
from flows.operate.servers import state_file


@pytest.fixture
def own_home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    return Home(tmp_path)


def test_up_for_other_machines_needs_a_password(bife, own_home):
    refused = bife("up", "--host", "0.0.0.0")
    assert refused.exit_code == 1
    assert "set BIFE_SERVER_AUTH to name:password" in refused.stderr
    assert not state_file(own_home).exists()


def test_status_and_down_where_nothing_is_up(bife, own_home):
    status = bife("status")
    assert status.exit_code == 1
    assert "BiFE is not up in" in status.stderr
    assert [line for line in status.stdout.splitlines() if line in ("Families", "Model API", "Disk")]
    assert bife("down").stdout.startswith("BiFE is not up in")
