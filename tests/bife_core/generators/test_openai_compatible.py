"""A chat API: what becomes of each answer and failure, that a call is stored in time, and that no key is shown."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import SecretStr

from bife_core.errors import GeneratorError
from bife_core.generators.account import Call
from bife_core.generators.base import Draft, DraftingStoppedError, NoDraftError, PromptContext
from bife_core.generators.model_settings import ModelApiSettings, holding_key
from bife_core.generators.openai_compatible import OpenAIGenerator, offered
from bife_core.search import Sample, SampleRequest
from tests.support.model_answers import MODEL, completion, rule_source
from tests.support.model_api import ModelApi, Said
from tests.support.model_scenes import SCENES
from tests.support.stored import account_at

ABOUT = PromptContext(benchmark="set_covering")
KEY = "sk-very-secret-0123456789"
Make = Callable[..., OpenAIGenerator]

REPEATED = {
    "rate_limited",
    "server_error",
    "overloaded",
    "billed_failure",
    "hang",
    "reset",
    "key_in_error",
}
"""Scenes that the client sends the same request again after."""

STOPPED = {
    "bad_key": "refused the key; check BIFE_LLM_API_KEY (HTTP 401",
    "forbidden": "refused the key; check BIFE_LLM_API_KEY (HTTP 403",
    "no_model": "check BIFE_LLM_MODEL and BIFE_LLM_BASE_URL (HTTP 404",
    "no_credit": "has no credit left (HTTP 429",
    "redirect": "is no chat API",
}
UNANSWERED = {
    "context_overflow": "too many tokens",
    "bad_request": "something wrong",
    "not_json": "Welcome to the proxy",
    "deep_json": "no chat completion",
    "odd_json": "no chat completion",
    "no_choices": "no chat completion",
    "error_inside": "upstream is down",
    "reset_inside": "sent no answer",
    "keep_alive": "no answer within",
}
NO_RULE = {
    "empty": "empty",
    "null": "empty",
    "filtered": "content filter",
    "refusal": "I am sorry",
    "refusal_field": "I will not write that",
    "no_code": "no function",
    "wrong_name": "no function `candidate_variable_score`",
    "broken_code": "no valid Python",
    "cut_off": "cut off",
    "huge": "characters",
}
READ = {"good", "apt", "unfenced", "two_blocks", "without_usage", "odd_usage", "key_in_answer"}


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BASE_URL", "MODEL", "API_KEY", "TIMEOUT_S", "PRICE_IN", "PRICE_OUT"):
        monkeypatch.delenv(f"BIFE_LLM_{name}", raising=False)
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def build(api: ModelApi, **settings: object) -> OpenAIGenerator:
        chosen = {"base_url": api.base_url, "model": MODEL, "api_key": KEY, "timeout_s": 5.0, "tries": 2}
        chosen |= {"price_in": "0.15", "price_out": "0.6"}
        return OpenAIGenerator(
            ModelApiSettings.model_validate(chosen | settings), account_at(tmp_path / "calls")
        )

    return build


def request(key: str = "g00-c00", seed: int = 1, *parents: Sample) -> SampleRequest:
    operator = "e2" if parents else "i1"
    return SampleRequest(id=key, generation=0, operator=operator, parents=parents, seed=seed)


def ask(generator: OpenAIGenerator, key: str = "g00-c00") -> Draft:
    return generator.generate(request(key), ABOUT)


def test_every_scene_has_an_expected_outcome() -> None:
    assert {*REPEATED, *STOPPED, *UNANSWERED, *NO_RULE, *READ} == set(SCENES)


@pytest.mark.parametrize("scene", sorted(READ))
def test_good_answers_are_read(make: Make, scene: str) -> None:
    with ModelApi(then=scene) as api:
        draft = ask(make(api))
    assert draft.failure is None
    assert draft.thought
    assert draft.source is not None
    if scene != "key_in_answer":
        assert draft.source == rule_source(0)
    (attempt,) = draft.attempts
    assert (attempt.status, attempt.http_status, attempt.recorded) == ("ok", 200, False)


@pytest.mark.parametrize("scene", sorted(REPEATED))
def test_the_client_repeats_what_may_pass_within_one_call(make: Make, scene: str) -> None:
    with ModelApi([scene]) as api:
        generator = make(api, timeout_s=1.0)
        assert ask(generator).source is not None
    assert len(api.requests) == 2
    assert [call.status for call in generator.account.calls()] == ["ok"]


@pytest.mark.parametrize(("scene", "part"), STOPPED.items())
def test_what_no_further_request_would_change_stops_the_run(make: Make, scene: str, part: str) -> None:
    with ModelApi(then=scene) as api:
        generator = make(api, tries=1)
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(ask, generator, f"g00-c{number:02d}") for number in range(8)]
            errors = [future.exception() for future in asked]
    assert len(api.requests) == 1, "the first request goes out alone"
    for error in errors:
        assert isinstance(error, DraftingStoppedError)
        assert api.base_url in str(error)
        assert part in str(error)
        assert "never-shown" not in str(error)
        copy = pickle.loads(pickle.dumps(error))
        assert (str(copy), copy.draft) == (str(error), error.draft)
    assert sum(len(error.draft.attempts) for error in errors) == 1


@pytest.mark.parametrize(("scene", "part"), UNANSWERED.items())
def test_a_failed_request_is_told_from_a_bad_rule(make: Make, scene: str, part: str) -> None:
    with ModelApi([scene]) as api:
        generator = make(api, tries=1, timeout_s=1.0)
        draft = ask(generator)
        assert ask(generator, "another").source is not None
    refused = scene in ("context_overflow", "bad_request")
    assert draft.unanswered == ("refused" if refused else "outage")
    assert part in str(draft.failure)
    assert "\n" not in str(draft.failure)
    assert len(str(draft.failure)) < 500
    assert generator.account.calls()[-1].status == "error"


@pytest.mark.parametrize(("scene", "part"), NO_RULE.items())
def test_an_answer_without_a_rule_is_a_failed_sample(make: Make, scene: str, part: str) -> None:
    with ModelApi(then=scene) as api:
        draft = ask(make(api, timeout_s=10.0))
    assert (len(api.requests), draft.source, draft.unanswered) == (1, None, None)
    assert part in str(draft.failure)
    (attempt,) = draft.attempts
    assert (attempt.status, attempt.prompt_tokens) == ("ok", 1000)


def test_a_server_that_is_not_there_costs_nothing(make: Make) -> None:
    with ModelApi() as api:
        generator = make(api, tries=1)
    draft = ask(generator)
    assert draft.unanswered == "outage"
    assert "cannot be reached" in str(draft.failure)
    spent = generator.account.spending()
    assert (spent.calls, spent.unknown, spent.tokens) == (1, 0, 0)


@pytest.mark.parametrize("scene", ["hang", "keep_alive"])
def test_what_was_billed_for_a_reply_that_never_came_is_unknown(make: Make, scene: str) -> None:
    with ModelApi(then=scene) as api:
        generator = make(api, tries=1, timeout_s=0.3)
        assert "within 0.3 s" in str(ask(generator).failure)
    spent = generator.account.spending()
    assert (spent.calls, spent.unknown, spent.estimated) == (1, 1, 1)
    assert spent.prompt_tokens > 2000


def test_tokens_and_cost_are_counted(make: Make) -> None:
    with ModelApi(["good", "billed_failure", "without_usage", "odd_usage"]) as api:
        generator = make(api, tries=1)
        (good,) = ask(generator, "a").attempts
        (failed,) = ask(generator, "b").attempts
        guessed = [ask(generator, key).attempts[0] for key in ("c", "d")]
        (free,) = ask(make(api, price_in=(), price_out=()), "e").attempts
    price = (1000 * Decimal("0.15") + 200 * Decimal("0.6")) / 1_000_000
    assert (good.prompt_tokens, good.completion_tokens, good.cost_usd) == (1000, 200, price)
    assert (failed.status, failed.cost_usd) == ("error", price)
    assert all(2000 < one.prompt_tokens < 20_000 and 20 < one.completion_tokens < 500 for one in guessed)
    assert generator.account.spending().estimated == 2
    assert free.cost_usd is None


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens_details": {"cached_tokens": 600}}, {"prompt_cache_hit_tokens": 600}]
)
def test_cached_tokens_are_counted_and_cost_their_own_price(make: Make, usage: dict[str, object]) -> None:
    body = completion(f"```python\n{rule_source(0)}```")
    body["usage"] |= usage
    with ModelApi(then=Said(200, body)) as api:
        (cached,) = ask(make(api, price_cached="0.015")).attempts
        (full,) = ask(make(api), "b").attempts
    assert (cached.prompt_tokens, cached.cached_tokens, full.cached_tokens) == (1000, 600, 600)
    assert (
        cached.cost_usd == (400 * Decimal("0.15") + 600 * Decimal("0.015") + 200 * Decimal("0.6")) / 1_000_000
    )
    assert full.cost_usd == (1000 * Decimal("0.15") + 200 * Decimal("0.6")) / 1_000_000


@pytest.mark.parametrize(
    ("tokens", "counted"), [(12.0, 12), ("12", 12), (0, 0), (12.5, None), (True, None), (-1, None)]
)
def test_a_number_of_tokens_is_taken_in_any_form(make: Make, tokens: object, counted: int | None) -> None:
    body = completion(f"```python\n{rule_source(0)}```")
    body["usage"] = {"prompt_tokens": tokens, "completion_tokens": 5.0}
    with ModelApi(then=Said(200, body)) as api:
        generator = make(api)
        (made,) = ask(generator).attempts
    assert made.completion_tokens == 5
    assert generator.account.spending().estimated == (counted is None), "a guess is recorded as one"
    assert made.prompt_tokens == counted if counted is not None else made.prompt_tokens > 2000


def test_each_of_several_models_is_asked_in_turn_and_has_its_price(make: Make) -> None:
    with ModelApi(then="good") as api:
        generator = make(api, model="small, large", price_in="1,10", price_out="0")
        drafts = [
            generator.generate(request(f"g00-c0{k}").model_copy(update={"number": k}), ABOUT)
            for k in range(3)
        ]
        again = make(api, model="small, large", price_in=()).generate(request("g00-c00"), ABOUT)
        assert len(api.requests) == 3
    assert [received.body["model"] for received in api.requests] == ["small", "large", "small"]
    assert [draft.attempts[0].cost_usd for draft in drafts] == [
        Decimal("0.001"),
        Decimal("0.01"),
        Decimal("0.001"),
    ]
    assert again.attempts[0].recorded
    with pytest.raises(GeneratorError, match="BIFE_LLM_PRICE_IN has 3 prices for 2 models"):
        make(api, model="small,large", price_in="1,2,3")


def test_the_request_carries_prompt_temperature_and_the_name_of_the_call(make: Make) -> None:
    with ModelApi(key=KEY) as api:
        draft = ask(make(api, temperature=0.5), "a/b")
    with ModelApi() as other:
        assert ask(make(other, api_key=None), "c").source is not None
    (received,) = api.requests
    assert received.path == "/v1/chat/completions"
    assert (received.body["model"], received.body["temperature"]) == (MODEL, 0.5)
    assert received.body["messages"] == [message.model_dump() for message in draft.messages]
    assert received.headers["x-client-request-id"] == "bife-a%2Fb.1"
    assert "temperature" not in other.requests[0].body
    assert KEY not in other.requests[0].headers["authorization"]


def test_a_call_is_stored_before_it_goes_out_and_its_answer_before_it_is_read(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Call] = []

    class Watching(ModelApi):
        def take(self, path: str, headers: dict[str, str], body: dict[str, object]) -> str | Said:
            seen.extend(account_at(tmp_path / "calls").calls())
            return super().take(path, headers, body)

    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with Watching() as api:
        generator = make(api)
        with monkeypatch.context() as patched:
            patched.setattr("bife_core.generators.openai_compatible.read_answer", crash)
            with pytest.raises(KeyboardInterrupt):
                ask(generator)
        (attempt,) = ask(make(api)).attempts
        assert len(api.requests) == 1, "a recorded answer is not billed again"
    assert attempt.recorded
    (before,) = seen
    assert (before.status, before.number, before.prompt_tokens) == ("sent", 1, 0)


def test_failed_calls_are_kept_but_never_taken_for_answers(make: Make) -> None:
    with ModelApi(["server_error"]) as api:
        generator = make(api, tries=1)
        assert ask(generator).source is None
        assert ask(generator).source is not None
    failed, answered = generator.account.calls()
    assert [(call.number, call.status) for call in (failed, answered)] == [(1, "error"), (2, "ok")]
    assert failed.response == {"error": {"message": "internal error", "type": "error", "code": None}}


def test_another_prompt_under_the_same_key_is_asked_anew(make: Make) -> None:
    with ModelApi() as api:
        generator = make(api)
        for number in (1, 2):
            parent = Sample(id="p", generation=0, operator="i1", source=rule_source(number))
            generator.generate(request("g01-c00", 1, parent), ABOUT)
    one, other = api.requests
    assert one.body["messages"] != other.body["messages"]


def test_threads_may_share_a_generator(make: Make) -> None:
    with ModelApi() as api:
        generator = make(api)
        with ThreadPoolExecutor(4) as pool:
            drafts = list(pool.map(lambda i: ask(generator, f"g00-c{i:02d}"), range(8)))
    assert len({draft.source for draft in drafts}) == 8
    assert [draft.key for draft in drafts] == [f"g00-c{i:02d}" for i in range(8)]


def test_the_key_is_nowhere_to_be_read(make: Make, tmp_path: Path) -> None:
    with ModelApi(["key_in_answer", "key_in_error", "bad_key"]) as api:
        generator = make(api, tries=1)
        shown = [repr(ask(generator, key)) for key in ("a", "b")]
        with pytest.raises(DraftingStoppedError) as caught:
            ask(generator, "c")
    assert api.requests[0].headers["authorization"] == f"Bearer {KEY}"
    written = "".join(path.read_bytes().decode("latin-1") for path in (tmp_path / "calls").iterdir())
    shown += [str(caught.value), repr(caught.value.draft), repr(generator.settings), written]
    assert not [text for text in shown if KEY in text]
    assert "[key]" in written


def test_a_key_is_blotted_out_however_it_is_spelled_and_a_placeholder_is_left() -> None:
    known = {"base_url": "http://here/v1", "model": "m"}
    settings = ModelApiSettings.model_validate(known | {"api_key": KEY})
    for echo in (f"no such key: {KEY}", json.dumps({"a": [KEY]}), '{"a": "\\u0073' + KEY[1:] + '"}'):
        assert KEY not in str(settings.cleaned(echo))
        assert "[key]" in str(settings.cleaned(echo))
    local = ModelApiSettings.model_validate(known | {"api_key": "local"})
    assert local.cleaned('"a local rule"') == "a local rule"


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({}, "BIFE_LLM_BASE_URL and BIFE_LLM_MODEL, for instance BIFE_LLM_BASE_URL="),
        ({"model": "m"}, "BIFE_LLM_BASE_URL"),
        ({"base_url": "http://localhost/v1"}, "BIFE_LLM_MODEL"),
    ],
)
def test_missing_settings_are_named(tmp_path: Path, settings: dict[str, str], missing: str) -> None:
    with pytest.raises(GeneratorError, match=f"set {missing}"):
        OpenAIGenerator(ModelApiSettings.model_validate(settings), account_at(tmp_path))


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://fallback/v1")
    monkeypatch.setenv("BIFE_LLM_MODEL", "m")
    monkeypatch.setenv("BIFE_LLM_PRICE_IN", "")
    settings = ModelApiSettings.from_environment()
    assert (settings.base_url, settings.model, settings.price_in) == ("http://fallback/v1", "m", ())
    monkeypatch.setenv("BIFE_LLM_BASE_URL", "http://own/v1")
    monkeypatch.setenv("BIFE_LLM_TIMEOUT_S", "2.5")
    settings = ModelApiSettings.from_environment()
    assert (settings.base_url, settings.timeout_s) == ("http://own/v1", 2.5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TIMEOUT_S", "0"),
        ("TIMEOUT_S", "soon"),
        ("PRICE_IN", "-1"),
        ("BASE_URL", "localhost:80"),
        ("BASE_URL", "http://me:secret-value@host/v1"),
        ("BASE_URL", "http://host/v1?code=secret-value"),
        ("API_KEY", "schlüssel-secret-value"),
    ],
)
def test_a_bad_setting_is_named_without_secrets(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv("BIFE_LLM_API_KEY", KEY)
    monkeypatch.setenv(f"BIFE_LLM_{name}", value)
    with pytest.raises(GeneratorError, match=f"BIFE_LLM_{name}") as caught:
        ModelApiSettings.from_environment()
    assert "secret" not in str(caught.value)


def test_which_of_several_keys_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def key() -> str | None:
        found = ModelApiSettings.from_environment().api_key
        return None if found is None else found.get_secret_value()

    assert key() is None
    monkeypatch.setenv("OPENAI_API_KEY", "for others")
    assert key() == "for others"
    with holding_key(SecretStr("held\n")):
        assert key() == "held"
        assert "held" not in repr(ModelApiSettings.from_environment())
        assert copy_context().run(key) == "held", "tasks run in copies of their flow's context"
        monkeypatch.setenv("BIFE_LLM_API_KEY", "for BiFE")
        assert key() == "for BiFE"
    monkeypatch.setenv("BIFE_LLM_API_KEY", "")
    assert key() == "for others"


@pytest.mark.parametrize(
    ("listing", "names"),
    [
        (None, [MODEL]),
        (Said(404, "no"), []),
        (Said(200, "hello"), []),
        (Said(401, {"error": {"message": "no"}}), DraftingStoppedError),
        (Said(503, {"error": {"message": "later"}}), NoDraftError),
    ],
)
def test_what_an_api_offers_is_asked_for_without_a_paid_call(listing: Said | None, names: object) -> None:
    with ModelApi(listing=listing) as api:
        settings = ModelApiSettings.model_validate({"base_url": api.base_url, "model": MODEL})
        if isinstance(names, list):
            assert offered(settings) == names
        else:
            with pytest.raises(NoDraftError) as caught:
                offered(settings)
            assert type(caught.value) is names
    assert not api.requests
