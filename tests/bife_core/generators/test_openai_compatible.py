from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

from bife_core.config import BudgetConfig
from bife_core.errors import GeneratorError
from bife_core.generators.base import DraftingStoppedError, NoDraftError
from bife_core.generators.model_api import offered
from bife_core.generators.model_settings import ModelApiSettings
from bife_core.generators.openai_compatible import OpenAIGenerator
from bife_core.generators.prompt_context import PromptContext
from bife_core.search import Sample, SampleRequest
from tests.support.model_answers import MODEL, rule_source
from tests.support.model_api import ModelApi, Said
from tests.support.stored import account_at

ABOUT = PromptContext(benchmark="set_covering")

KEY = "sk-very-secret-0123456789"
Make = Callable[..., OpenAIGenerator]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BASE_URL", "MODEL", "API_KEY", "TEMPERATURE", "TIMEOUT_S", "PRICE_IN", "PRICE_OUT"):
        monkeypatch.delenv(f"BIFE_LLM_{name}", raising=False)
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def build(
        api: ModelApi,
        *,
        timeout_s: float = 5.0,
        budget: BudgetConfig | None = None,
        until_unix_s: float | None = None,
        patience_s: float | None = None,
        **settings: object,
    ) -> OpenAIGenerator:
        chosen = {
            "base_url": api.base_url,
            "model": MODEL,
            "api_key": KEY,
            "timeout_s": timeout_s,
            "tries": 4,
        } | settings
        account = account_at(tmp_path / "calls", budget or BudgetConfig(), until_unix_s)
        return OpenAIGenerator(
            ModelApiSettings.model_validate(chosen), account, backoff_s=0.02, patience_s=patience_s
        )

    return build


def request(key: str = "g00-c00", seed: int = 1, *parents: Sample) -> SampleRequest:
    operator = "e2" if parents else "i1"
    return SampleRequest(id=key, generation=0, operator=operator, parents=parents, seed=seed)


def parent(number: int) -> Sample:
    return Sample(id=f"p{number}", generation=0, operator="i1", source=rule_source(number))


def test_a_good_answer_becomes_thought_and_source(make: Make) -> None:
    with ModelApi(key=KEY) as api:
        generation = make(api, temperature=0.5).generate(request(), ABOUT)
    assert generation.source == rule_source(0)
    assert generation.thought == "It is slack times the geometric mean of the gains"
    assert generation.failure is None
    assert (generation.key, generation.generator, generation.model) == ("g00-c00", "openai", MODEL)
    (attempt,) = generation.attempts
    assert (attempt.status, attempt.http_status, attempt.recorded) == ("ok", 200, False)
    (received,) = api.requests
    assert received.path == "/v1/chat/completions"
    assert received.body["model"] == MODEL
    assert received.body["temperature"] == 0.5
    assert received.body["messages"] == [message.model_dump() for message in generation.messages]


def test_without_a_temperature_none_is_sent_and_a_local_server_needs_no_key(make: Make) -> None:
    with ModelApi() as api:
        assert make(api, api_key=None).generate(request(), ABOUT).source is not None
    assert "temperature" not in api.requests[0].body
    assert KEY not in api.requests[0].headers["authorization"]


def test_tokens_and_cost_are_counted(make: Make) -> None:
    with ModelApi() as api:
        (priced,) = make(api, price_in=0.5, price_out=2.0).generate(request("a"), ABOUT).attempts
        (half,) = make(api, price_out=2.0).generate(request("b"), ABOUT).attempts
        (free,) = make(api).generate(request("c"), ABOUT).attempts
    assert (priced.prompt_tokens, priced.completion_tokens) == (1000, 200)
    assert priced.cost_usd == Decimal("0.0009")
    assert half.cost_usd == Decimal("0.0004")
    assert free.cost_usd is None


def test_tries_are_limited_and_the_failure_tells_the_last_reason(make: Make) -> None:
    with ModelApi(then="overloaded") as api:
        generation = make(api).generate(request(), ABOUT)
    assert len(generation.attempts) == len(api.requests) == 4
    assert generation.source is None
    assert generation.failure is not None
    assert "4 tries" in generation.failure
    assert "503" in generation.failure


def test_the_server_is_given_the_time_it_asks_for(make: Make) -> None:
    with ModelApi(["rate_limited"], retry_after_s=0.6) as api:
        make(api).generate(request(), ABOUT)
    assert api.requests[1].received_s - api.requests[0].received_s >= 0.6


def test_a_server_that_asks_for_an_hour_is_not_given_it(tmp_path: Path) -> None:
    with ModelApi(["rate_limited"], retry_after_s=3600) as api:
        settings = ModelApiSettings.model_validate({"base_url": api.base_url, "model": MODEL})
        settings = settings.model_copy(update={"max_wait_s": 0.1})
        generator = OpenAIGenerator(settings, account_at(tmp_path), backoff_s=0.02)
        assert generator.generate(request(), ABOUT).source is not None


def test_a_rate_limit_is_waited_for_beyond_the_tries_that_are_for_failures(make: Make) -> None:
    with ModelApi([*["rate_limited_silent"] * 6, "overloaded", "rate_limited_silent"]) as api:
        generation = make(api, tries=2, max_wait_s=0.05).generate(request(), ABOUT)
    assert generation.source is not None
    assert len(generation.attempts) == len(api.requests) == 9


def test_patience_ends_before_a_wait_that_would_outlast_it(make: Make) -> None:
    start = time.monotonic()
    with ModelApi(then="rate_limited", retry_after_s=0.8) as api:
        generation = make(api, tries=4, patience_s=1.5).generate(request(), ABOUT)
    assert time.monotonic() - start < 1.5
    assert (generation.unanswered, len(api.requests) <= 2) == ("outage", True)


def test_a_server_that_says_come_back_at_once_is_not_asked_for_ever(make: Make) -> None:
    with ModelApi(then="rate_limited", retry_after_s=0) as api:
        make(api, tries=2, patience_s=1.0).generate(request(), ABOUT)
    assert len(api.requests) < 10


@pytest.mark.parametrize("scene", ["hang", "slow_drip"])
def test_no_call_outlives_its_limit(make: Make, scene: str) -> None:
    start = time.monotonic()
    with ModelApi(then=scene) as api:
        generation = make(api, timeout_s=0.4, tries=2).generate(request(), ABOUT)
    assert time.monotonic() - start < 15.0
    assert [attempt.seconds < 5.0 for attempt in generation.attempts] == [True, True]
    assert "within 0.4 s" in str(generation.failure)


@pytest.mark.parametrize(
    ("scene", "parts"),
    [
        ("bad_key", ["refused the key", "401", "BIFE_LLM_API_KEY"]),
        ("forbidden", ["refused the key", "403"]),
        ("no_model", [MODEL, "404", "BIFE_LLM_MODEL"]),
        ("no_credit", ["no credit"]),
    ],
)
def test_what_no_retry_can_mend_stops_at_once_and_says_what_to_do(
    make: Make, scene: str, parts: list[str]
) -> None:
    with ModelApi(then=scene) as api:
        generator = make(api)
        with pytest.raises(DraftingStoppedError) as caught:
            generator.generate(request(), ABOUT)
    assert len(api.requests) == 1
    for part in [*parts, api.base_url]:
        assert part in str(caught.value)
    assert caught.value.draft.failure == str(caught.value)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.draft) == (str(caught.value), caught.value.draft)
    assert [attempt.status for attempt in caught.value.draft.attempts] == ["error"]


@pytest.mark.parametrize(
    ("said", "unknown"),
    [
        ("Model Not Exist", True),
        ("The model `x` does not exist or you do not have access to it.", True),
        ("The supported API model names are a or b, but you passed x.", True),
        ("invalid model ID", True),
        ("This model's maximum context length is 4096 tokens.", False),
        ("Unsupported value: 'temperature' does not support 0.3 with this model.", False),
        ("The model is fine. The file was not found.", False),
    ],
)
def test_an_unknown_model_is_told_from_other_bad_requests(make: Make, said: str, unknown: bool) -> None:
    with ModelApi(then="bad_request", message=said) as api:
        generator = make(api)
        if unknown:
            with pytest.raises(DraftingStoppedError, match=f"no model '{MODEL}'"):
                generator.generate(request(), ABOUT)
        else:
            assert said.rstrip(".") in str(generator.generate(request(), ABOUT).failure)
    assert len(api.requests) == 1


def test_a_server_nobody_runs_stops_the_run(make: Make) -> None:
    with ModelApi() as api:
        generator = make(api)
    with pytest.raises(DraftingStoppedError, match="Nothing could be reached") as caught:
        generator.generate(request(), ABOUT)
    assert len(caught.value.draft.attempts) == 3


def test_a_prompt_that_is_too_long_fails_this_generation_only(make: Make) -> None:
    with ModelApi(["context_overflow"]) as api:
        generator = make(api)
        failed = generator.generate(request("a"), ABOUT)
        assert generator.generate(request("b"), ABOUT).source is not None
    assert len(failed.attempts) == 1
    assert "too many tokens" in str(failed.failure)


def test_a_recorded_answer_is_not_paid_again(make: Make) -> None:
    with ModelApi(["server_error"]) as api:
        first = make(api).generate(request(), ABOUT)
        again = make(api).generate(request(), ABOUT)
        assert len(api.requests) == 2
    assert (again.source, again.thought) == (first.source, first.thought)
    (attempt,) = again.attempts
    assert attempt.recorded
    assert attempt.answer == first.attempts[-1].answer


def test_failed_attempts_are_kept_on_disk_but_never_taken_for_answers(make: Make) -> None:
    with ModelApi(["server_error"] * 4) as api:
        generator = make(api)
        assert generator.generate(request(), ABOUT).source is None
        assert [call.status for call in generator.account.store.calls()] == ["error"] * 4
        assert generator.generate(request(), ABOUT).source is not None
    calls = generator.account.store.calls()
    assert [call.number for call in calls] == [1, 2, 3, 4, 5]
    assert calls[0].response == {"error": {"message": "internal error", "type": "error", "code": None}}


def test_another_prompt_under_the_same_key_is_asked_anew(make: Make) -> None:
    with ModelApi() as api:
        generator = make(api)
        generator.generate(request("g01-c00", 1, parent(1)), ABOUT)
        generator.generate(request("g01-c00", 1, parent(2)), ABOUT)
    one, other = api.requests
    assert one.body["messages"] != other.body["messages"]


def test_the_answer_is_on_disk_before_it_is_read(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with ModelApi() as api:
        generator = make(api)
        with monkeypatch.context() as patched:
            patched.setattr("bife_core.generators.openai_compatible.parse_answer", crash)
            with pytest.raises(KeyboardInterrupt):
                generator.generate(request(), ABOUT)
        assert generator.generate(request(), ABOUT).attempts[0].recorded
        assert len(api.requests) == 1


def test_the_key_is_nowhere_to_be_read(make: Make, tmp_path: Path) -> None:
    with ModelApi(["bad_key"]) as api:
        generator = make(api)
        with pytest.raises(DraftingStoppedError) as caught:
            generator.generate(request("a"), ABOUT)
        with pytest.raises(DraftingStoppedError):
            generator.generate(request("c"), ABOUT)
        assert len(api.requests) == 1
        generation = make(api).generate(request("b"), ABOUT)
    assert f"Bearer {KEY}" == api.requests[0].headers["authorization"]
    written = "".join(path.read_bytes().decode("latin-1") for path in (tmp_path / "calls").iterdir())
    shown = [
        str(caught.value),
        repr(caught.value.draft),
        repr(generation),
        repr(generator.settings),
        written,
    ]
    assert not [text for text in shown if KEY in text]
    assert "[key]" in written


def test_threads_may_share_a_generator(make: Make) -> None:
    with ModelApi() as api:
        generator = make(api)
        with ThreadPoolExecutor(4) as pool:
            requests = [request(f"g00-c{i:02d}", i) for i in range(8)]
            generations = list(pool.map(generator.generate, requests, [ABOUT] * 8))
    assert len({generation.source for generation in generations}) == 8
    assert [generation.key for generation in generations] == [f"g00-c{i:02d}" for i in range(8)]


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({}, "BIFE_LLM_BASE_URL and BIFE_LLM_MODEL"),
        ({"model": "m"}, "BIFE_LLM_BASE_URL"),
        ({"base_url": "http://localhost/v1"}, "BIFE_LLM_MODEL"),
    ],
)
def test_missing_settings_are_named(tmp_path: Path, settings: dict[str, str], missing: str) -> None:
    with pytest.raises(GeneratorError, match=f"set {missing}"):
        OpenAIGenerator(ModelApiSettings.model_validate(settings), account_at(tmp_path))


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://fallback/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "fallback")
    monkeypatch.setenv("BIFE_LLM_MODEL", "m")
    monkeypatch.setenv("BIFE_LLM_TEMPERATURE", "")
    settings = ModelApiSettings.from_environment()
    assert (settings.base_url, settings.model, settings.temperature) == ("http://fallback/v1", "m", None)
    assert settings.timeout_s == 60.0
    monkeypatch.setenv("BIFE_LLM_BASE_URL", "http://own/v1")
    monkeypatch.setenv("BIFE_LLM_API_KEY", KEY)
    monkeypatch.setenv("BIFE_LLM_TIMEOUT_S", "2.5")
    settings = ModelApiSettings.from_environment()
    assert (settings.base_url, settings.timeout_s) == ("http://own/v1", 2.5)
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == KEY


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TIMEOUT_S", "0"),
        ("TIMEOUT_S", "soon"),
        ("TEMPERATURE", "9"),
        ("PRICE_IN", "-1"),
        ("BASE_URL", "localhost:80"),
    ],
)
def test_a_bad_setting_is_named_with_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv("BIFE_LLM_API_KEY", KEY)
    monkeypatch.setenv(f"BIFE_LLM_{name}", value)
    with pytest.raises(GeneratorError, match=f"BIFE_LLM_{name}") as caught:
        ModelApiSettings.from_environment()
    assert value in str(caught.value)
    assert KEY not in str(caught.value)


def known(api: ModelApi, **changes: object) -> ModelApiSettings:
    return ModelApiSettings.model_validate({"base_url": api.base_url, "model": MODEL} | changes)


def test_what_an_api_offers_is_asked_for_without_a_paid_call() -> None:
    with ModelApi() as api:
        settings = known(api)
        assert offered(settings) == [MODEL]
        assert offered(known(api, base_url=api.base_url + "/nothing")) == []
    assert api.requests == []
    with pytest.raises(DraftingStoppedError, match="Nothing could be reached"):
        offered(settings)


@pytest.mark.parametrize(
    ("listing", "names"),
    [
        (Said(200, [{"id": "a"}, {"id": "b\n"}, {"name": "c"}]), ["a", "b"]),
        (Said(200, {"data": None}), []),
        (Said(200, "<html>Welcome</html>"), []),
        (Said(405, "no"), []),
    ],
)
def test_a_list_of_models_is_read_in_any_form(listing: Said, names: list[str]) -> None:
    with ModelApi(listing=listing) as api:
        assert offered(known(api)) == names


@pytest.mark.parametrize(
    ("status", "error", "part"),
    [(401, DraftingStoppedError, "refused the key"), (503, NoDraftError, "HTTP 503: later")],
)
def test_an_api_that_lists_nothing_for_now_is_told_from_one_that_refuses(
    status: int, error: type[NoDraftError], part: str
) -> None:
    with (
        ModelApi(listing=Said(status, {"error": {"message": "later"}})) as api,
        pytest.raises(NoDraftError, match=part) as caught,
    ):
        offered(known(api))
    assert type(caught.value) is error


def test_a_query_of_the_address_goes_with_every_request(make: Make) -> None:
    with ModelApi() as api:
        generator = make(api, base_url=f"{api.base_url}/?api-version=1&code=secret-value")
        assert generator.generate(request(), ABOUT).source is not None
        assert offered(generator.settings) == [MODEL]
    assert api.requests[0].path == "/v1/chat/completions?api-version=1&code=secret-value"
    assert api.listed[0].path == "/v1/models?api-version=1&code=secret-value"


def test_a_user_in_the_address_is_sent_where_there_is_no_key_and_refused_where_there_is(make: Make) -> None:
    with ModelApi() as api:
        address = api.base_url.replace("//", "//me:password@")
        make(api, base_url=address, api_key=None).generate(request(), ABOUT)
        with pytest.raises(GeneratorError, match="take the user out of the address"):
            make(api, base_url=address)
    assert [one.headers["authorization"] for one in api.requests] == ["Basic bWU6cGFzc3dvcmQ="]


@pytest.mark.parametrize(
    "address",
    [
        "ftp://me:password@host/v1?code=secret-value",
        "me:password@host/v1",
        "http:/me:password@host/v1",
        "ftp://me:pass/word@other@host/v1",
    ],
)
def test_an_address_that_cannot_be_used_is_shown_without_its_secrets(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("BIFE_LLM_BASE_URL", address)
    with pytest.raises(GeneratorError, match="found 'host/v1'"):
        ModelApiSettings.from_environment()
