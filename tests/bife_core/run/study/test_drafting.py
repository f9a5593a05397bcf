import time

import pytest

from bife_core.measure.low import LowScore
from bife_core.run.config import BudgetConfig, GeneratorConfig
from bife_core.run.study.evaluator import write_draft
from bife_core.run.study.identity import generator_identity
from bife_core.search import Sample, SampleRequest
from bife_core.search.generators import BudgetReachedError, DraftingStoppedError, open_generator
from bife_core.search.generators.base import PromptContext
from tests.support.model_answers import MODEL
from tests.support.model_api import ModelApi
from tests.support.stored import account_at

SOURCE = "def candidate_variable_score(variable_features) -> float:\n    return variable_features[18]\n"
PARENT = Sample(id="g00-c00", generation=0, operator="i1", sha="a", source=SOURCE, f_lf=0.5)
REQUEST = SampleRequest(id="g01-c00", generation=1, operator="m1", parents=(PARENT,), seed=3)


def checked(draft):
    return LowScore(failure=draft.failure)


def written(folder, check=checked, **budget):
    account = account_at(folder, BudgetConfig(**budget))
    generator = open_generator(GeneratorConfig(kind="openai"), account)
    answer = write_draft(REQUEST, PromptContext(benchmark="toys"), generator, account, check)
    return answer.draft, answer.low, account


@pytest.fixture(autouse=True)
def _model(monkeypatch):
    monkeypatch.setenv("BIFE_LLM_MODEL", MODEL)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def api(monkeypatch):
    def start(*script, **options):
        server = ModelApi(script, **options)
        monkeypatch.setenv("BIFE_LLM_BASE_URL", server.base_url)
        return server

    return start


def test_calls_of_an_earlier_interrupted_run_are_counted_too(tmp_path, api):
    with api("bad_key", "good"):
        with pytest.raises(DraftingStoppedError):
            written(tmp_path)
        draft, score, account = written(tmp_path)
    assert [call.status for call in account.calls(REQUEST.id)] == ["error", "ok"]
    assert draft.seconds == sum(call.seconds for call in account.calls())
    assert score.failure is None, "the score that was made comes with the draft"


def test_the_identity_of_a_model_holds_neither_key_nor_address(monkeypatch):
    monkeypatch.setenv("BIFE_LLM_MODEL", "a-model")
    monkeypatch.setenv("BIFE_LLM_BASE_URL", "http://somewhere/v1")
    monkeypatch.setenv("BIFE_LLM_API_KEY", "sk-secret")
    identity = generator_identity(GeneratorConfig(kind="openai"))
    assert identity["model"] == "a-model"
    assert not {"sk-secret", "http://somewhere/v1"} & set(identity.values())
    more = GeneratorConfig(kind="openai", model="a-model", max_completion_tokens=9)
    assert generator_identity(more) == identity, "a limit is no part of it"
    assert generator_identity(GeneratorConfig(kind="openai", about="auctions")) != identity


def test_an_answer_that_is_no_rule_is_answered_with_the_reason_once(tmp_path, api):
    with api("wrong_name", "good") as server:
        draft, score, account = written(tmp_path)
        roles = [message["role"] for message in server.requests[1].body["messages"]]
        reason = server.requests[1].body["messages"][2]["content"]
    assert draft.source is not None
    assert (draft.failure, score) == (None, None), "a repaired rule is still to be scored"
    assert [(call.status, len(call.messages)) for call in account.calls()] == [("ok", 1), ("ok", 3)]
    assert roles == ["user", "assistant", "user"]
    assert "candidate_variable_score" in reason
    assert account.spending().calls == 2


def test_a_server_that_refuses_the_conversation_leaves_the_first_answer(tmp_path, api):
    with api("wrong_name", "bad_request"):
        draft, _, account = written(tmp_path)
    assert "candidate_variable_score" in str(draft.failure)
    assert [call.status for call in account.calls()] == ["ok", "error"]


def test_the_time_of_writing_is_that_of_the_calls_alone(tmp_path, api):
    def slowly_checked(draft):
        time.sleep(0.3)
        return checked(draft)

    with api("wrong_name", "good"):
        draft, _, account = written(tmp_path, slowly_checked)
    assert draft.seconds == sum(call.seconds for call in account.calls()) > 0.0


def test_whoever_ends_between_the_two_calls_pays_each_once(tmp_path, api):
    with api("wrong_name", "good", then="server_error") as server:
        with pytest.raises(BudgetReachedError):
            written(tmp_path, calls=1)
        assert len(server.requests) == 1
        draft, _, _ = written(tmp_path, calls=2)
        again, _, _ = written(tmp_path, calls=2)
        assert len(server.requests) == 2
    assert draft.source == again.source is not None
