"""`bife up`, `status`, `down`, `bife prune`, `bife backup` without servers; the rest is in tests/flows/operate."""

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import LogFilter
from prefect.client.schemas.objects import StateType
from prefect.exceptions import ObjectNotFound
from prefect.states import Completed, Running

from bife_core.store import home as home_module
from bife_core.store.home import Home
from bife_flows.cli.operating import _note_lack_of_room
from bife_flows.operate.servers import state_file
from bife_tasks.overview import markdown, sections
from tests.support.challenging import challenge_in, source
from tests.support.operating import until
from tests.support.programs import program


def test_nothing_is_up_and_other_machines_need_a_password(bife, monkeypatch, tmp_path):
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    refused = bife("up", "--host", "0.0.0.0")
    assert refused.exit_code == 1
    assert "set BIFE_SERVER_AUTH to name:password" in refused.stderr
    assert not state_file(Home(tmp_path)).exists()
    status = bife("status")
    assert (status.exit_code, status.stderr) == (0, "")
    assert status.stdout.splitlines()[-1] == "BiFE is not up; `bife up` starts it."
    assert [line for line in status.stdout.splitlines() if line in ("Families", "Model API", "Disk")]
    assert bife("down").stdout.startswith("BiFE is not up in")


def test_a_full_disk_is_said_once_and_again_after_there_was_room(monkeypatch, tmp_path, capsys):
    noted = False
    for least_mb in (0.0, 1e12, 1e12, 0.0, 1e12):
        monkeypatch.setattr(home_module, "LEAST_FREE_MB", least_mb)
        noted = _note_lack_of_room(Home(tmp_path), noted)
    assert capsys.readouterr().out.count("make room, or set BIFE_HOME to another disk.") == 2
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    assert "make room, or set BIFE_HOME to another disk." in markdown(sections())


@flow(name="ended")
def ended() -> None:
    """Do nothing."""


def flow_run(client, state):
    made = client.create_flow_run(ended, state=Running())
    client.set_flow_run_state(made.id, state, force=True)
    logged = {"flow_run_id": str(made.id), "name": "prefect", "level": 20, "message": "a line"}
    client.create_logs([logged | {"timestamp": datetime.now(UTC).isoformat()}])
    return made.id


def test_prune_says_what_would_go_and_removes_it_when_told_to(prepared, bife, tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    samples = tmp_path / "decisions" / "auctions-0123456789abcdef"
    samples.mkdir(parents=True)
    with get_client(sync_client=True) as client:
        gone, stays = (flow_run(client, Completed()) for _ in range(2))
        # The server alone says when a run ended.
        with closing(sqlite3.connect(prepared / "prefect" / "prefect.db", timeout=60)) as database, database:
            aged = "UPDATE flow_run SET end_time = datetime(end_time, '-800 days') WHERE id = ?"
            assert database.execute(aged, [str(gone)]).rowcount == 1
        pruned = bife("prune", "--keep-days", "700")
        assert pruned.exit_code == 0, pruned.output
        _, *lines, last = pruned.output.splitlines()
        assert last == "Nothing was removed; --yes removes it."
        rows = {line.split("  ")[0]: line.split()[-2:] for line in lines}
        assert rows["flow runs of Prefect"] == ["1", "-"]
        assert rows["searches, collections, evaluations"] == ["0", "0.0"]
        assert client.read_flow_run(gone).state_type == StateType.COMPLETED

        assert bife("prune", "--keep-days", "700", "--yes").output.splitlines()[-1] == "Removed."
        with pytest.raises(ObjectNotFound):
            client.read_flow_run(gone)
        assert client.read_flow_run(stays).state_type == StateType.COMPLETED
        of_run = LogFilter.model_validate({"flow_run_id": {"any_": [gone]}})
        until(lambda: client.read_logs(of_run) == [], "the log to go", 60)


@pytest.mark.long
def test_a_home_that_was_lost_is_made_from_its_backup_with_its_rules(databases, tmp_path):
    home, file = databases(tmp_path / "home"), tmp_path / "bife.tar.gz"
    challenge_in(home, "bife-kept", 3)
    assert program("backup", str(file), home=home).returncode == 0
    shutil.rmtree(home)
    restored = program("backup", "--restore", str(file), home=home)
    assert restored.stdout == f"{home} is as it was.\n", restored.stderr
    shown = program("rules", "show", "models:/bife-kept@challenger", home=home)
    assert [line.strip() for line in source(3).splitlines()][1] in shown.stdout, shown.stderr
