"""Parts of Prefect that are not public and that we use all the same: what changes there fails here first."""

import inspect
import subprocess

from docket import Worker
from prefect.server.api import background_workers
from prefect.server.api import server as upstream


def test_the_embedded_server_is_one_a_process_and_started_by_a_method_of_its_own():
    kept = upstream.SubprocessASGIServer
    assert isinstance(kept._instances, dict)
    assert inspect.signature(kept.__new__).parameters["port"].default is None
    assert list(inspect.signature(kept._run_uvicorn_command).parameters) == ["self"]
    assert "self._run_uvicorn_command()" in inspect.getsource(kept.start)
    assert subprocess.Popen.__name__ in inspect.getsource(kept._run_uvicorn_command)


def test_it_is_told_by_variables_that_it_serves_one_client():
    told = inspect.getsource(upstream.SubprocessASGIServer._run_uvicorn_command)
    for name in ("PREFECT__SERVER_EPHEMERAL", "PREFECT__SERVER_FINAL"):
        assert name in told
    assert "create_app" in told


def test_its_chores_are_done_by_a_worker_whose_pace_can_be_given():
    assert background_workers.Worker is Worker
    assert {"minimum_check_interval", "scheduling_resolution"} <= inspect.signature(Worker).parameters.keys()
