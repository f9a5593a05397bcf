"""A registered model, and instances, of no other test."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest


@pytest.fixture
def name() -> str:
    return f"bife-test-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of a kind that no other test's champion was made for."""
    path = tmp_path / "chain.lp"
    rows = "".join(f" c{i}: 2 x{i} - 3 y + 5 x{i + 1} = {i % 4}\n" for i in range(7))
    names = " ".join(f"x{i}" for i in range(8))
    path.write_text(f"Minimize\n obj: x0 + y\nSubject To\n{rows}Bounds\n y <= 9\nGenerals\n {names}\nEnd\n")
    return path
