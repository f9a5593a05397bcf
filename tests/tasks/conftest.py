"""Machines that hand files to one another, and a search's folder."""

from __future__ import annotations

import uuid
from pathlib import Path

import fsspec
import pytest

from bife_core.evolution import Journal
from tasks import storage
from tests.support import journals


@pytest.fixture(params=["memory", "local"])
def root(request, tmp_path, monkeypatch):
    address = f"memory://bife-{tmp_path.name}" if request.param == "memory" else f"file://{tmp_path / 'root'}"
    monkeypatch.setenv("BIFE_STORAGE", address)
    yield address
    fsspec.filesystem("memory").store.clear()


@pytest.fixture
def homes(tmp_path, monkeypatch):
    """Return a function that moves this process to another machine's home."""

    def move(name: str) -> Path:
        monkeypatch.setenv("BIFE_HOME", str(tmp_path / name))
        (tmp_path / name).mkdir(exist_ok=True)
        # What a process knows of a root, another machine's does not.
        monkeypatch.setattr(storage, "_put_states", {})
        monkeypatch.setattr(storage, "_noted", set())
        return (tmp_path / name).resolve()

    return move


@pytest.fixture
def key() -> str:
    return uuid.uuid4().hex[:16]


@pytest.fixture
def folder(home: Path, key: str) -> Path:
    """The folder of an evolution that no other test uses."""
    return home / "runs" / key


@pytest.fixture
def journal(key: str, folder: Path) -> Journal:
    return journals.opened(key, folder)
