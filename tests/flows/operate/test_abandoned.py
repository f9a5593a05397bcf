"""Runs whose process is gone are closed on their own machine, and no others."""

import os
import socket
import uuid

import psutil
import pytest
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.states import Cancelled, Cancelling, Pending, Running

from bife_core.store.claims import began_s
from bife_flows.operate.running import GONE, close_abandoned, reach_prefect
from bife_flows.reporting.conduct import gone
from bife_tasks.tracking.provenance import WHOLE_RUN
from tests.support import journals
from tests.support.tracked import parent, synced

pytestmark = pytest.mark.usefixtures("prepared")

HERE = socket.gethostname()
LEFT = {"bife_machine": HERE, "bife_pid": max(psutil.pids()) + 100_000}
OWN = {"bife_machine": HERE, "bife_pid": os.getpid(), "bife_began": began_s(os.getpid())}


@flow(name="left")
def left() -> None:
    """Do nothing."""


@task(name="part")
def part() -> None:
    """Do nothing."""


@pytest.fixture
def api():
    reach_prefect()
    with get_client(sync_client=True) as client:
        yield client


def begun(api, state, parent=None, **labels):
    within = parent and api.create_task_run(part, parent, dynamic_key="0").id
    made = api.create_flow_run(left, state=Pending(), parent_task_run_id=within)
    api.update_flow_run_labels(made.id, {name.replace("_", "."): value for name, value in labels.items()})
    api.set_flow_run_state(made.id, state, force=True)
    return made.id


@pytest.mark.parametrize(
    ("state", "labels", "worker_starts", "gone"),
    [
        (Running(), LEFT, False, True),
        (Running(), OWN, False, False),
        # Another process has the number now.
        (Running(), OWN | {"bife_began": OWN["bife_began"] - 100.0}, False, True),
        (Cancelling(), OWN | {"bife_began": OWN["bife_began"] - 100.0}, False, True),
        (Running(), LEFT | {"bife_machine": "another"}, False, False),
        (Running(), {}, True, False),
        (Pending(), {"prefect_worker_name": HERE}, False, False),
        (Pending(), {"prefect_worker_name": HERE}, True, True),
        # Tried again: its former process is still noted, and another machine's worker has it now.
        (Pending(), LEFT | {"prefect_worker_name": "another"}, True, False),
    ],
)
def test_which_runs_are_closed(monkeypatch, api, state, labels, worker_starts, gone):
    run_id, before_s = begun(api, state, **labels), psutil.boot_time()
    monkeypatch.setattr("psutil._psplatform.boot_time", lambda: before_s + 5.0)  # as when the clock is set
    close_abandoned(api, worker_starts)
    run = api.read_flow_run(run_id)
    assert (run.state_type in (StateType.CRASHED, StateType.CANCELLED)) == gone
    assert not gone or state.is_cancelling() or run.state.message == GONE


@pytest.mark.parametrize("state", [Cancelling(message="Enough."), Cancelled(message="Enough.")])
def test_a_part_of_a_cancelled_run_is_cancelled_for_its_reason(api, state):
    whole = begun(api, state, **LEFT)
    within = begun(api, Running(), begun(api, Running(), whole, **LEFT), **LEFT)
    close_abandoned(api)
    run = api.read_flow_run(within)
    assert (run.state_type, run.state.message) == (StateType.CANCELLED, "Enough.")


def test_a_run_that_is_deleted_meanwhile_keeps_no_other_open(api, monkeypatch):
    older, younger = begun(api, Running(), **LEFT), begun(api, Running(), **LEFT)

    def deleting(run):
        if run.id == younger:
            api.delete_flow_run(younger)
        return gone(run)

    monkeypatch.setattr("bife_flows.operate.running.gone", deleting)
    close_abandoned(api)
    assert api.read_flow_run(older).state_type == StateType.CRASHED


@pytest.mark.parametrize(
    ("state", "ended", "status", "reason"),
    [
        (Running(), StateType.CRASHED, "FAILED", GONE),
        (Cancelling(message="Enough."), StateType.CANCELLED, "KILLED", "Cancelled: Enough."),
    ],
)
def test_both_servers_say_why_a_search_stopped(api, tmp_path, monkeypatch, state, ended, status, reason):
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    run_id = begun(api, state, **LEFT)
    key = uuid.uuid4().hex[:16]
    search = synced(journals.opened(key, tmp_path / "runs" / key, {WHOLE_RUN: str(run_id)}).folder)
    close_abandoned(api)
    run, tracked = api.read_flow_run(run_id), parent(search)
    assert (run.state_type, run.state.message) == (ended, reason.removeprefix("Cancelled: "))
    assert (tracked.info.status, tracked.data.tags["stopped"]) == (status, reason)
