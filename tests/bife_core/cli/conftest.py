"""The command line without Prefect and MLflow, called in this process, in a home of its own."""

import pytest

import bife_core.cli.program  # noqa: F401 - its commands are those of a checkout, whichever test comes first
from bife_core.cli.backend import PLAIN


@pytest.fixture(scope="session")
def plain_home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def plain(plain_home, monkeypatch):
    monkeypatch.setenv(PLAIN, "1")
    monkeypatch.setenv("BIFE_HOME", str(plain_home))
    for name in ("BIFE_STORE", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
