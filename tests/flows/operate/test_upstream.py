"""Parts of Prefect that are not public and that we use all the same: what changes there fails here first."""

import inspect

import pytest


@pytest.fixture(scope="module")
def api():
    """The modules of its server, which take seconds to import: not in every process that collects tests."""
    import prefect.server.api.background_workers
    import prefect.server.api.server

    return prefect.server.api


def test_it_is_told_by_variables_that_it_serves_one_client(api):
    told = inspect.getsource(api.server.SubprocessASGIServer._run_uvicorn_command)
    for name in ("PREFECT__SERVER_EPHEMERAL", "PREFECT__SERVER_FINAL"):
        assert name in told
    assert "create_app" in told


def test_its_chores_are_done_by_a_worker_whose_pace_can_be_given(api):
    from docket import Worker

    assert api.background_workers.Worker is Worker
    assert {"minimum_check_interval", "scheduling_resolution"} <= inspect.signature(Worker).parameters.keys()
