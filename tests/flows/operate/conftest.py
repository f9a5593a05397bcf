"""Everything `bife up` starts, real, once for all tests here, and stopped after the last: idle servers use CPU time."""

import secrets

import pytest
from prefect.client.orchestration import get_client
from prefect.events.worker import EventsWorker
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

from bife_core.store.home import Home
from tests.support.operating import bife_up


@pytest.fixture(scope="package")
def operated(tmp_path_factory, databases):
    auth = ("operator", secrets.token_urlsafe(12))
    # Prefect looks for new schedules once a minute.
    often = {"PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "2"}
    with bife_up(Home(databases(tmp_path_factory.mktemp("operated"))), auth=auth, **often) as up:
        yield up


@pytest.fixture
def served(operated, monkeypatch):
    """A client of its Prefect server, which flows of this process use meanwhile."""
    assert operated.auth is not None
    address = f"{operated.prefect}/api"
    monkeypatch.setenv("PREFECT_API_URL", address)
    settings = {PREFECT_API_URL: address, PREFECT_API_AUTH_STRING: ":".join(operated.auth)}
    with temporary_settings(settings), get_client(sync_client=True) as client:
        yield client
        # The one that sends events keeps its server, which flows of later tests do not use.
        EventsWorker.drain_all(timeout=30.0, at_exit=False)
