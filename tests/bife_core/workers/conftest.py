import pytest

from bife_core.workers import WorkerPool


@pytest.fixture(scope="module")
def pool():
    """One worker, whose process a test can follow from call to call."""
    with WorkerPool(1) as pool:
        yield pool
