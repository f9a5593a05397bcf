import pickle
import time

import pytest

from bife_core.config import BudgetConfig, GeneratorConfig
from bife_core.generators import (
    BudgetReachedError,
    Draft,
    DraftingStoppedError,
    PromptContext,
    open_generator,
)
from bife_core.search import Sample, SampleRequest
from bife_core.study import UnansweredError, generator_identity
from bife_core.study.evaluator import write_draft
from tests.support.model_answers import MODEL
from tests.support.model_api import ModelApi
from tests.support.stored import account_at

PARENT = Sample(
    id="g00-c00",
    generation=0,
    operator="i1",
    sha="a",
    source="def candidate_variable_score(variable_features) -> float:\n    return variable_features[18]\n",
    f_lf=0.5,
)
REQUEST = SampleRequest(id="g01-c00", generation=1, operator="m1", parents=(PARENT,), seed=3)


def proposed(config, calls):
    account = account_at(calls)
    return write_draft(REQUEST, PromptContext(benchmark="toys"), open_generator(config, account), account)[0]


@pytest.fixture
def api(monkeypatch):
    def start(*script, **options):
        server = ModelApi(script, **options)
        monkeypatch.setenv("BIFE_LLM_BASE_URL", server.base_url)
        monkeypatch.setenv("BIFE_LLM_MODEL", MODEL)
        return server

    return start


def test_the_same_request_gives_the_same_rule_offline(tmp_path):
    first, again = (proposed(GeneratorConfig(), tmp_path) for _ in range(2))
    assert first.model_copy(update={"seconds": again.seconds}) == again
    assert first.seconds > 0
    assert first.source
    assert first.attempts == ()


def test_calls_of_an_earlier_interrupted_run_are_counted_too(tmp_path, api):
    config = GeneratorConfig(kind="openai")
    with api("bad_key", "good"):
        with pytest.raises(DraftingStoppedError) as stopped:
            proposed(config, tmp_path)
        assert [attempt.status for attempt in stopped.value.draft.attempts] == ["error"]
        written = proposed(config, tmp_path)
    assert [(attempt.status, attempt.recorded) for attempt in written.attempts] == [
        ("error", True),
        ("ok", False),
    ]


def test_an_answer_on_disk_is_not_asked_for_again(tmp_path, api):
    config = GeneratorConfig(kind="openai")
    with api() as server:
        first, again = proposed(config, tmp_path), proposed(config, tmp_path)
        assert len(server.requests) == 1
    assert again.source == first.source
    assert [attempt.recorded for attempt in again.attempts] == [True]


def test_a_stop_survives_the_way_between_processes():
    draft = Draft(key="g00-c00", generator="openai", model="m", failure="Nobody is there.")
    stopped = pickle.loads(pickle.dumps(DraftingStoppedError("no credit", draft)))
    assert (str(stopped), stopped.draft) == ("no credit", draft)
    missing = pickle.loads(pickle.dumps(UnansweredError("Nobody is there.", draft)))
    assert (str(missing), missing.draft) == ("Nobody is there.", draft)


def test_no_call_goes_out_after_the_time_is_up(tmp_path):
    account = account_at(tmp_path, BudgetConfig(hours=1), until_unix_s=time.time())
    with pytest.raises(BudgetReachedError, match="has run for 1 hours"):
        write_draft(
            REQUEST, PromptContext(benchmark="toys"), open_generator(GeneratorConfig(), account), account
        )


def test_the_identity_of_a_model_holds_neither_key_nor_address(monkeypatch):
    monkeypatch.setenv("BIFE_LLM_MODEL", "a-model")
    monkeypatch.setenv("BIFE_LLM_BASE_URL", "http://somewhere/v1")
    monkeypatch.setenv("BIFE_LLM_API_KEY", "sk-secret")
    identity = generator_identity(GeneratorConfig(kind="openai"))
    assert identity["model"] == "a-model"
    assert not {"sk-secret", "http://somewhere/v1"} & set(identity.values())
    assert generator_identity(GeneratorConfig(kind="openai", model="a-model")) == identity
