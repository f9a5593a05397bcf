import json
import os
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

import pytest

from bife_core.base.errors import ConfigError
from bife_core.base.places import sqlite_file
from bife_core.store import Store, home as home_module
from bife_core.store.home import Home
from bife_tasks.home import mlflow_folder, mlflow_uri, prepare_environment
from tests.support.programs import python


@pytest.fixture
def environment(tmp_path):
    """An environment without any of our settings, in an empty working directory; what a test sets goes with it."""
    ours = ("BIFE_", "MLFLOW_", "PREFECT_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    (tmp_path / "cwd").mkdir()
    home = {"BIFE_HOME": str(tmp_path / "home")}
    with chdir(tmp_path / "cwd"), patch.dict(os.environ, kept | home, clear=True):
        yield tmp_path


def test_a_home_and_its_databases_are_for_their_user_alone(environment):
    home = prepare_environment()
    shared = environment / "shared"
    shared.mkdir(mode=0o755)
    Store(shared).close()
    home.store.serve(["a"], "test")
    private = [home.root, home.prefect, *home.root.glob("bife.db*"), *shared.iterdir()]
    assert len(private) > 3
    assert [path for path in private if path.stat().st_mode & 0o077] == []
    assert shared.stat().st_mode & 0o777 == 0o755


def test_defaults_lie_in_the_home(environment):
    home = prepare_environment()
    assert home.root == environment / "home"
    expected = {"MLFLOW_TRACKING_URI": f"sqlite:///{home.root}/mlflow/mlflow.db"}
    expected |= {"PREFECT_HOME": str(home.root / "prefect")}
    expected |= {"PREFECT_LOCAL_STORAGE_PATH": str(home.root / "results")}
    expected |= {"MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    expected |= {"PREFECT_RESULTS_DEFAULT_SERIALIZER": "json", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    assert expected.items() <= os.environ.items()
    before = dict(os.environ)
    prepare_environment()
    assert dict(os.environ) == before, "again changes nothing"


def test_a_home_has_databases_of_its_own_whatever_it_is_called(environment, monkeypatch):
    names = ("MLFLOW_TRACKING_URI", "PREFECT_SERVER_DATABASE_CONNECTION_URL")
    monkeypatch.setenv("BIFE_HOME", str(environment / "what? 5%41#"))
    home = prepare_environment()
    files = [mlflow_folder(home) / "mlflow.db", home.prefect / "prefect.db"]
    assert [sqlite_file(os.environ[name]) for name in names] == files
    assert sqlite_file(mlflow_uri()) == files[0]


@pytest.mark.parametrize("name", ["MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI"])
def test_a_database_beside_the_shell_is_the_same_for_programs_elsewhere(environment, monkeypatch, name):
    here = environment / "cwd"
    for given, meant in (
        ("sqlite:///my/mlflow.db", f"sqlite:///{here}/my/mlflow.db"),
        ("sqlite:////srv/mlflow.db", "sqlite:////srv/mlflow.db"),
        ("sqlite:///file:my%3Fdb?uri=true", f"sqlite+pysqlite:///file:{here}/my%3Fdb?uri=true"),
        ("http://mlflow.example.org:5000", "http://mlflow.example.org:5000"),
    ):
        monkeypatch.setenv(name, given)
        prepare_environment()
        assert os.environ[name] == meant


def test_the_shell_wins_over_files_and_earlier_files_over_later_ones(environment, monkeypatch):
    named = environment / "named.env"
    named.write_text("BIFE_LLM_MODEL=named\nBIFE_LLM_BASE_URL=http://named/v1\nBIFE_LLM_TIMEOUT_S=1\n")
    Path("mlflow.env").write_text("BIFE_LLM_MODEL=cwd\nBIFE_LLM_PRICE_IN=2\n")
    (environment / "home").mkdir()
    (environment / "home" / "mlflow.env").write_text("BIFE_LLM_PRICE_IN=3\nBIFE_LLM_PRICE_OUT=3\n")
    names = ("MODEL", "TIMEOUT_S", "PRICE_IN", "PRICE_OUT")
    monkeypatch.setenv("BIFE_ENV_FILE", str(named))
    monkeypatch.setenv("BIFE_LLM_BASE_URL", "http://shell/v1")
    prepare_environment()
    found = [os.environ[f"BIFE_LLM_{name}"] for name in (*names, "BASE_URL")]
    assert found == ["named", "1", "2", "3", "http://shell/v1"]


def test_a_file_may_name_the_home_and_hold_dollar_signs_and_hashes(environment, monkeypatch):
    monkeypatch.setenv("BIFE_HOME", "")
    Path("mlflow.env").write_text(
        f"BIFE_HOME={environment / 'there'}\nBIFE_LLM_API_KEY='sk-$HOME#1'  # mine\n"
    )
    assert prepare_environment().root == environment / "there"
    assert os.environ["BIFE_LLM_API_KEY"] == "sk-$HOME#1"


def test_servers_of_the_user_are_left_alone(environment, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:2")
    prepare_environment()
    assert os.environ["MLFLOW_TRACKING_URI"] == "http://127.0.0.1:2"
    assert not {"PREFECT_HOME", "PREFECT_LOGGING_LEVEL"} & os.environ.keys()


def test_importing_the_flows_settles_prefect_and_mlflow(tmp_path):
    program = """
import json, bife_flows
import prefect.settings, mlflow
from prefect.client.orchestration import get_client
settings = prefect.settings.get_current_settings()
try:
    get_client()
except ValueError as error:
    refused = str(error)
paths = [str(settings.home), str(settings.results.local_storage_path), mlflow.get_tracking_uri()]
print(json.dumps([*paths, refused.partition(".")[0]]))
"""
    home = tmp_path / "fresh"
    done = python("-c", program, home=home, cwd=tmp_path)
    assert json.loads(done.stdout) == [
        str(home / "prefect"),
        str(home / "results"),
        f"sqlite:///{home}/mlflow/mlflow.db",
        "No Prefect API URL provided",  # and no server of Prefect's is started, which would outlive a kill
    ]
    assert done.stderr == ""


def test_a_home_without_room_or_rights_is_found_before_a_run_begins(tmp_path, monkeypatch):
    Home(tmp_path).require_room()
    monkeypatch.setattr(home_module, "LEAST_FREE_MB", 1e12)
    with pytest.raises(ConfigError, match=r"Only \d+ MB are free .*; make room"):
        Home(tmp_path).require_room()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="set BIFE_HOME to a directory of yours"):
        Home(tmp_path / "file").require_room()
