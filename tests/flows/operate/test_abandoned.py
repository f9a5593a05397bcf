"""Runs whose process is gone are found on their own machine, and nobody else's are touched."""

import os
import socket
import time
import uuid

import psutil
import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.states import Cancelling, Pending, Running

from flows.operate.abandoned import GONE, cancelling_here, close_abandoned
from flows.operate.running import start_embedded_api
from tasks.tracking.provenance import WHOLE_RUN
from tests.support import journals
from tests.support.tracked import parent, synced

pytestmark = pytest.mark.usefixtures("prepared")

HERE = socket.gethostname()
NOBODY = max(psutil.pids()) + 100_000


@flow(name="left")
def left() -> None:
    """Do nothing."""


@pytest.fixture
def api():
    start_embedded_api()
    with get_client(sync_client=True) as client:
        yield client


def begun(api, state, **labels):
    made = api.create_flow_run(left, state=Pending())
    api.update_flow_run_labels(made.id, {name.replace("_", "."): value for name, value in labels.items()})
    api.set_flow_run_state(made.id, state, force=True)
    return made.id


@pytest.mark.parametrize(
    ("state", "labels", "gone"),
    [
        (Running(), {"bife_machine": HERE, "bife_pid": NOBODY}, True),
        (Running(), {"bife_machine": HERE, "bife_pid": os.getpid()}, False),
        (Running(), {"bife_machine": "another", "bife_pid": NOBODY}, False),
        (Running(), {}, False),
        (Pending(), {"prefect_worker_name": HERE}, False),
    ],
)
def test_which_runs_are_gone(api, state, labels, gone):
    run_id = begun(api, state, **labels)
    assert (run_id in close_abandoned(api)) == gone
    found = api.read_flow_run(run_id)
    assert (found.state_type == StateType.CRASHED) == gone
    assert not gone or found.state.message == GONE


@pytest.mark.parametrize(
    ("labels", "gone"),
    [
        ({"prefect_worker_name": HERE}, True),
        ({"prefect_worker_name": "another"}, False),
        # Tried again: its former process is still noted, and another machine's worker has it now.
        ({"prefect_worker_name": "another", "bife_machine": HERE, "bife_pid": NOBODY}, False),
    ],
)
def test_what_a_former_worker_submitted_and_never_began_is_gone(api, monkeypatch, labels, gone):
    run_id = begun(api, Pending(), **labels)
    monkeypatch.setattr(psutil.Process, "create_time", lambda _: time.time() + 60)
    assert (run_id in close_abandoned(api)) == gone


def test_a_run_that_is_only_suspected_is_left_until_the_next_look(api):
    run_id = begun(api, Running(), bife_machine=HERE, bife_pid=NOBODY)
    suspects = close_abandoned(api, set())
    assert api.read_flow_run(run_id).state_type == StateType.RUNNING
    close_abandoned(api, suspects)
    assert api.read_flow_run(run_id).state_type == StateType.CRASHED


def test_one_that_somebody_cancelled_says_what_was_said(api):
    run_id = begun(api, Cancelling(message="Not needed any more."), bife_machine=HERE, bife_pid=NOBODY)
    close_abandoned(api)
    found = api.read_flow_run(run_id)
    assert (found.state_type, found.state.message) == (StateType.CANCELLED, "Not needed any more.")


@pytest.mark.parametrize(
    ("state", "status", "reason"),
    [
        (Running(), "FAILED", GONE),
        (Cancelling(message="Not needed any more."), "KILLED", "Cancelled: Not needed any more."),
    ],
)
def test_mlflow_is_told_why_its_search_stopped(api, tmp_path, monkeypatch, state, status, reason):
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    run_id = begun(api, state, bife_machine=HERE, bife_pid=NOBODY)
    key = uuid.uuid4().hex[:16]
    search = synced(journals.opened(key, tmp_path / "runs" / key, {WHOLE_RUN: str(run_id)}).folder)
    close_abandoned(api)
    run = parent(search)
    assert (run.info.status, run.data.tags["stopped"]) == (status, reason)


@pytest.mark.parametrize(
    ("state", "labels", "here"),
    [
        (Cancelling(), {"bife_machine": HERE, "bife_pid": NOBODY}, True),
        (Cancelling(), {"bife_machine": "another", "bife_pid": NOBODY}, False),
        (Running(), {"bife_machine": HERE, "bife_pid": os.getpid()}, False),
    ],
)
def test_whether_a_run_of_this_machine_is_being_cancelled(api, state, labels, here):
    run_id = begun(api, state, **labels)
    try:
        assert cancelling_here(api) == here
    finally:
        api.delete_flow_run(run_id)
