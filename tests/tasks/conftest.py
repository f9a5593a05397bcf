"""A search's folder, and a registered model of no other test."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from bife_core.study import Journal
from tests.support import journals


@pytest.fixture
def key() -> str:
    return uuid.uuid4().hex[:16]


@pytest.fixture
def folder(home: Path, key: str) -> Path:
    """The folder of an evolution that no other test uses."""
    return home / "runs" / key


@pytest.fixture
def journal(key: str, folder: Path) -> Journal:
    return journals.opened(key, folder, origin="offline from the library")


@pytest.fixture
def name() -> str:
    return f"bife-test-{uuid.uuid4().hex[:8]}"
