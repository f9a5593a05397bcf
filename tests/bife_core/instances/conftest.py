from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def foreign():
    """Directory of models written by others; its README names their optima."""
    return Path(__file__).parents[2] / "data" / "foreign"
