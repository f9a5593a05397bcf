import shutil
from contextlib import ExitStack

import pytest

from bife_core.errors import ConfigError
from flows.cli import checks
from flows.cli.checks import CHECKS, Finding, examine
from tests.flows.cli.conftest import FOREIGN, sentence
from tests.support.model_answers import MODEL
from tests.support.model_api import ModelApi, Said


@pytest.fixture
def api(monkeypatch):
    """Start a model API that lists its models as told, and name it in the environment."""

    def start(status=200, body=None, query=""):
        body = {"data": [{"id": MODEL}]} if body is None else body
        server = stack.enter_context(ModelApi(listing=Said(status, body)))
        monkeypatch.setenv("BIFE_LLM_BASE_URL", server.base_url + query)
        monkeypatch.setenv("BIFE_LLM_MODEL", MODEL)
        monkeypatch.setenv("BIFE_LLM_API_KEY", "very-secret-key")
        return server

    with ExitStack() as stack:
        yield start


def test_everything_a_run_needs_works_here(bife):
    result = bife("doctor")
    assert result.exit_code == 0, result.output
    for name in (
        "Python",
        "home",
        "cores",
        "compiler",
        "SCIP",
        "rule",
        "worker",
        "walls",
        "MLflow",
        "Prefect",
        "Ecole",
    ):
        assert name in CHECKS
        assert name in result.stdout
    assert "libscip" in result.stdout
    assert "fail" not in result.stdout


def test_a_failed_check_is_shown_with_its_reason_and_the_others_go_on(bife, monkeypatch):
    def broken():
        raise ConfigError("The home cannot be written to.")

    def defect():
        raise TypeError("Body() got an\nunexpected argument")

    quick = {"Python": CHECKS["Python"], "home": broken, "Prefect": defect, "Ecole": CHECKS["Ecole"]}
    monkeypatch.setattr(checks, "CHECKS", quick)
    result = bife("doctor")
    assert result.exit_code == 1
    assert sentence(result.stderr) == "These checks failed: home, Prefect."
    assert "The home cannot be written to." in result.stdout
    assert "TypeError: Body() got an unexpected argument" in result.stdout
    assert "Ecole" in result.stdout


def test_a_folder_of_models_is_looked_at_where_it_is_given(bife, monkeypatch, tmp_path):
    monkeypatch.setattr(checks, "CHECKS", {"Python": CHECKS["Python"]})
    shutil.copy(FOREIGN / "lseu.mps", tmp_path)
    (tmp_path / "cut.mps").write_bytes((FOREIGN / "lseu.mps").read_bytes()[:3000])
    result = bife("doctor", "--instances", tmp_path)
    assert result.exit_code == 0, result.output
    found = " ".join(result.stdout.split())
    assert "1 can be used. Left out: cut.mps is cut off" in found
    assert "RPB spends" in found
    assert "of its CPU time in branching (1 instance)" in found
    assert bife("doctor", "--instances", tmp_path / "nowhere").exit_code == 1


def test_no_model_api_is_no_problem(monkeypatch):
    for name in ("BIFE_LLM_BASE_URL", "OPENAI_BASE_URL", "BIFE_LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    assert examine(CHECKS["model API"]).state == "ok"


@pytest.mark.parametrize(
    ("status", "body", "state", "text"),
    [
        (200, None, "ok", f"answers and offers {MODEL}"),
        (200, {"data": []}, "ok", f"lists no models; model {MODEL}"),
        (200, {"data": [{"id": f"models/{MODEL}"}]}, "ok", "offers"),
        (200, {"data": [{"id": f"{MODEL}:latest"}]}, "ok", "offers"),
        (200, {"data": [{"id": "a"}, {"id": "b"}]}, "warn", f"does not list {MODEL}; it lists a, b"),
        (404, "", "ok", "lists no models"),
        (401, {"detail": "Not this key."}, "fail", "refused the key (HTTP 401: Not this key)"),
        (503, "", "warn", "HTTP 503"),
    ],
)
def test_a_model_api_is_asked_with_the_key_which_is_never_shown(api, status, body, state, text):
    server = api(status, body, query="?code=secret-value")
    finding = examine(CHECKS["model API"])
    assert finding.state == state
    assert text in finding.text
    assert server.base_url in finding.text
    (asked,) = server.listed
    assert (asked.path, asked.headers["authorization"]) == (
        "/v1/models?code=secret-value",
        "Bearer very-secret-key",
    )
    assert "secret" not in finding.text


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("", "Nothing could be reached at http://127.0.0.1:9/v1 "),
        ("very-secret-key", "only one of them"),
    ],
    ids=["nobody answers", "a user and a key"],
)
def test_a_model_api_that_cannot_be_asked_fails_without_its_secrets(monkeypatch, key, text):
    monkeypatch.setenv("BIFE_LLM_BASE_URL", "http://user:password@127.0.0.1:9/v1?code=secret-value")
    monkeypatch.setenv("BIFE_LLM_MODEL", "some-model")
    monkeypatch.setenv("BIFE_LLM_API_KEY", key)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    finding = examine(CHECKS["model API"])
    assert finding.state == "fail"
    assert text in finding.text
    assert "password" not in finding.text
    assert "secret" not in finding.text


def test_half_a_model_api_says_what_is_missing(monkeypatch):
    monkeypatch.setenv("BIFE_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.delenv("BIFE_LLM_MODEL", raising=False)
    finding = examine(CHECKS["model API"])
    assert finding.state == "fail"
    assert "BIFE_LLM_MODEL" in finding.text


def test_a_home_that_is_a_file_fails(monkeypatch, tmp_path):
    file = tmp_path / "home"
    file.touch()
    monkeypatch.setenv("BIFE_HOME", str(file))
    finding = examine(CHECKS["home"])
    assert finding.state == "fail"
    assert "BIFE_HOME" in finding.text


def test_a_package_that_breaks_at_import_is_reported_with_its_message(monkeypatch, tmp_path):
    package = tmp_path / "prefect"
    package.mkdir()
    (package / "__init__.py").write_text("raise TypeError('unexpected keyword argument')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    finding = examine(CHECKS["Prefect"])
    assert finding.state == "fail"
    assert "TypeError: unexpected keyword argument" in finding.text
    assert isinstance(finding, Finding)
