"""A registry in a store of its own, and one in a home without MLflow."""

import sys

import pytest

from bife_core.registry.local import LocalRegistry
from bife_core.store import Store
from tests.support.databases import new_database


@pytest.fixture
def name():
    return "bife-test"


@pytest.fixture
def store(tmp_path):
    opened = Store(new_database(tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def registry(store):
    return LocalRegistry(store)


@pytest.fixture
def own_home(tmp_path, monkeypatch):
    """A home whose MLflow is neither installed nor has a database."""
    monkeypatch.setenv("BIFE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("BIFE_STORE", raising=False)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setitem(sys.modules, "mlflow", None)
    return tmp_path / "home"


@pytest.fixture
def home_registry(own_home):
    return LocalRegistry(Store(own_home))


@pytest.fixture
def model(tmp_path):
    """An instance of a kind of its own."""
    path = tmp_path / "chain.lp"
    rows = "".join(f" c{i}: 2 x{i} - 3 y + 5 x{i + 1} = {i % 4}\n" for i in range(7))
    names = " ".join(f"x{i}" for i in range(8))
    path.write_text(f"Minimize\n obj: x0 + y\nSubject To\n{rows}Bounds\n y <= 9\nGenerals\n {names}\nEnd\n")
    return path
