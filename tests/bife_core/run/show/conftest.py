import pytest


@pytest.fixture
def dots():
    """Pictures are drawn here."""
