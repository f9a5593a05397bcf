"""The program against a model API: the key is in no file and no output, whatever the server does with it."""

import pytest

from tests.flows.cli.conftest import sentence
from tests.support.model_api import ModelApi
from tests.support.programs import program

KEY = "sk-marked-key-0123456789"


def variables(api):
    patient = {"BIFE_LLM_API_KEY": KEY, "BIFE_LLM_TRIES": "2", "BIFE_LLM_TIMEOUT_S": "5"}
    return api.environment | patient | {"PREFECT_LOGGING_LEVEL": "DEBUG", "OPENAI_LOG": "debug"}


def holders(home):
    files = [path for path in home.rglob("*") if path.is_file()]
    assert len(files) > 20
    return [path for path in files if KEY.encode() in path.read_bytes()]


@pytest.mark.long
def test_a_whole_run_leaves_no_trace_of_the_key(tmp_path):
    options = ["--preset", "smoke", "--generator", "openai", "--workers", "2"]
    with ModelApi(["key_in_answer", "key_in_error", "good", "key_in_answer"]) as api:
        ended = program("run", *options, "--set", "budget.calls=7", home=tmp_path, **variables(api))
        assert ended.returncode == 0, ended.stderr
        assert len(api.requests) == 8  # one call is repeated by the client, after the error
        assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in api.requests)
        assert "budget.calls is used up: 7 of 7" in " ".join((ended.stdout + ended.stderr).split())
        assert KEY not in ended.stdout + ended.stderr
        assert holders(tmp_path) == []

    with ModelApi(then="bad_key") as api:
        stopped = program("--debug", "evolve", *options, home=tmp_path, **variables(api))
        assert stopped.returncode == 1
        assert "refused the key" in stopped.stderr
        assert KEY not in stopped.stdout + stopped.stderr
        assert holders(tmp_path) == []
        assert len(api.requests) == 1


@pytest.mark.usefixtures("prepared")
def test_a_money_budget_without_prices_ends_before_anything_begins(bife, monkeypatch):
    with ModelApi() as api:
        api.configure(monkeypatch)
        ended = bife("run", "--preset", "smoke", "--generator", "openai", "--usd", "1")
    assert ended.exit_code == 1
    assert "BIFE_LLM_PRICE_IN" in sentence(ended.stderr)
    assert api.requests == []
