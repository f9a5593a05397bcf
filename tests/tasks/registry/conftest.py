"""A registered model of no other test."""

from __future__ import annotations

import uuid

import pytest


@pytest.fixture
def name() -> str:
    return f"bife-test-{uuid.uuid4().hex[:8]}"
