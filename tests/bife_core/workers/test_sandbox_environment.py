"""What a worker may see of its parent."""

import os
from pathlib import Path

import pytest

from bife_core.workers import WorkerPool
from bife_core.workers.process import worker_environment

CALL = "bife_core.workers.selftest:"

SECRETS = """
    OPENAI_API_KEY BIFE_LLM_API_KEY BIFE_LLM_BASE_URL AWS_SECRET_ACCESS_KEY GITHUB_TOKEN
    MLFLOW_TRACKING_PASSWORD MLFLOW_TRACKING_URI DATABASE_URL SSH_AUTH_SOCK XDG_TOKEN BIFE_SOME_token
    BIFE_STORE BIFE_MLFLOW_UI BIFE_ENV_FILE HTTPS_PROXY
"""


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "BIFE_SANDBOX_READABLE", "NUMBA_OPT"]
)
def test_what_python_scip_and_numba_need_is_kept(name):
    assert worker_environment({name: "kept"}, Path("/tmp/x"))[name] == "kept"


def test_the_parents_search_path_comes_after_its_own_package():
    path = worker_environment({"PYTHONPATH": "/elsewhere"}, Path("/tmp/x"))["PYTHONPATH"].split(os.pathsep)
    assert path[1:] == ["/elsewhere"]
    assert (Path(path[0]) / "bife_core" / "workers").is_dir()


def test_a_real_worker_sees_no_secret_and_computes_on_one_thread(monkeypatch):
    for name in SECRETS.split():
        monkeypatch.setenv(name, "s3cret")
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    with WorkerPool(1) as pool:
        facts = pool.submit(CALL + "describe", {}, limit_s=20).result()
    environment = facts["environment"]
    assert "s3cret" not in environment.values()
    assert environment["OMP_NUM_THREADS"] == environment["NUMBA_NUM_THREADS"] == "1"
    assert environment["TMPDIR"] != os.environ.get("TMPDIR")
