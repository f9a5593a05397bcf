"""Machines that hand files to one another."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

from tasks import storage


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
        monkeypatch.setattr(storage, "_put_times", {})
        monkeypatch.setattr(storage, "_noted", set())
        return (tmp_path / name).resolve()

    return move
