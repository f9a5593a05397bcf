"""Everything `bife up` starts, real, once for all tests here."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from tasks.home import Home
from tests.support.operating import Operated, bife_up


@pytest.fixture(scope="session")
def operated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operated]:
    auth = ("operator", secrets.token_urlsafe(12))
    # Prefect looks for new schedules once a minute.
    often = {"PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "2"}
    with bife_up(Home(tmp_path_factory.mktemp("operated")), auth=auth, **often) as up:
        yield up
