"""Every scene an API can play: what becomes of the rule, in how many calls, and that each call is on disk."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

from bife_core.errors import GeneratorError
from bife_core.generators.base import Draft, DraftingStoppedError
from bife_core.generators.calls import Call
from bife_core.generators.judging import retry_after_s
from bife_core.generators.model_settings import ModelApiSettings
from bife_core.generators.openai_compatible import OpenAIGenerator
from bife_core.generators.prompt_context import PromptContext
from bife_core.search import SampleRequest
from tests.support.model_answers import MODEL, rule_source
from tests.support.model_api import ModelApi
from tests.support.model_scenes import SCENES
from tests.support.stored import account_at

LIMIT_S = 1.0
KEY = "sk-marked-0123456789"

RETRIED = {
    "rate_limited": "429",
    "rate_limited_until": "429",
    "rate_limited_oddly": "429",
    "rate_limited_silent": "429",
    "server_error": "500",
    "bad_gateway": "502",
    "overloaded": "503",
    "billed_failure": "500",
    "hang": "within 1 s",
    "slow_drip": "within 1 s",
    "reset": "broke off",
    "reset_inside": "broke off",
    "closed_inside": "broke off",
    "truncated_json": "chat completion",
    "empty_body": "an empty body",
    "not_json": "chat completion",
    "deep_json": "chat completion",
    "odd_json": "chat completion",
    "no_choices": "chat completion",
    "error_inside": "upstream is down",
    "key_in_error": "could not handle the key [key]",
}
"""Scenes that a second try may mend, with a part of what is said of them."""

STOPPED = {
    "bad_key": "401",
    "forbidden": "403",
    "key_refused_inside": "401",
    "no_model": "404",
    "no_credit": "no credit",
    "redirect": "has moved to http://127.0.0.1:9/elsewhere",
}
FAILED = {
    "empty": "empty",
    "null": "empty",
    "filtered": "content filter",
    "refusal": "I am sorry",
    "refusal_field": "I will not write that",
    "no_code": "no function",
    "wrong_name": "`score`",
    "broken_code": "no valid Python",
    "cut_off": "cut off",
    "huge": "characters",
}
REFUSED = {"context_overflow": "too many tokens", "bad_request": "something wrong", "endless": "bytes"}
READ = {
    "good",
    "apt",
    "boundless",
    "unfenced",
    "two_blocks",
    "without_usage",
    "odd_usage",
    "plain_text",
    "key_in_answer",
}


def open_api(api: ModelApi, calls: Path, **settings: object) -> OpenAIGenerator:
    chosen = {
        "base_url": api.base_url,
        "model": MODEL,
        "api_key": KEY,
        "timeout_s": LIMIT_S,
        "tries": 2,
        "max_wait_s": 0.3,
        "price_in": "0.15",
        "price_out": "0.6",
    }
    return OpenAIGenerator(
        ModelApiSettings.model_validate(chosen | settings), account_at(calls), backoff_s=0.02
    )


def ask(generator: OpenAIGenerator, key: str = "g00-c00") -> Draft:
    return generator.generate(
        SampleRequest(id=key, generation=0, operator="i1", seed=1),
        PromptContext(benchmark="combinatorial_auction"),
    )


def test_every_scene_has_an_expected_outcome() -> None:
    assert {*RETRIED, *STOPPED, *FAILED, *REFUSED, *READ} == set(SCENES)


@pytest.mark.parametrize(("scene", "part"), RETRIED.items())
def test_a_passing_trouble_is_tried_again(tmp_path: Path, scene: str, part: str) -> None:
    start = time.monotonic()
    with ModelApi([scene]) as api:
        generator = open_api(api, tmp_path)
        generation = ask(generator)
    assert time.monotonic() - start < LIMIT_S + 20.0
    assert generation.source is not None
    assert [attempt.status for attempt in generation.attempts] == ["error", "ok"]
    assert part in str(generation.attempts[0].error)
    failed, answered = generator.account.store.calls()
    assert (failed.status, answered.status, len(api.requests)) == ("error", "ok", 2)
    assert failed.seconds < LIMIT_S + 10.0


@pytest.mark.parametrize(("scene", "part"), STOPPED.items())
def test_what_no_try_can_mend_stops_after_one_call(tmp_path: Path, scene: str, part: str) -> None:
    with ModelApi(then=scene) as api:
        generator = open_api(api, tmp_path)
        for key in ("g00-c00", "g00-c01"):
            with pytest.raises(DraftingStoppedError) as caught:
                ask(generator, key)
    assert len(api.requests) == 1
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "never-shown" not in str(caught.value)


@pytest.mark.parametrize(("scene", "part"), FAILED.items())
def test_an_answer_without_a_rule_is_a_failed_sample(tmp_path: Path, scene: str, part: str) -> None:
    with ModelApi(then=scene) as api:
        generation = ask(open_api(api, tmp_path, timeout_s=10.0))
    assert (len(api.requests), generation.source, generation.unanswered) == (1, None, None)
    assert part in str(generation.failure)
    assert len(str(generation.failure)) < 500
    (attempt,) = generation.attempts
    assert (attempt.status, attempt.prompt_tokens) == ("ok", 1000)


@pytest.mark.parametrize(("scene", "part"), REFUSED.items())
def test_a_request_that_is_not_accepted_is_told_from_a_bad_rule(
    tmp_path: Path, scene: str, part: str
) -> None:
    with ModelApi(then=scene) as api:
        generation = ask(open_api(api, tmp_path, timeout_s=10.0))
    assert (len(api.requests), generation.unanswered) == (1, "refused")
    assert part in str(generation.failure)


@pytest.mark.parametrize("scene", sorted(READ))
def test_unusual_but_good_answers_are_read(tmp_path: Path, scene: str) -> None:
    with ModelApi(then=scene) as api:
        generation = ask(open_api(api, tmp_path))
    assert generation.failure is None
    assert generation.source is not None
    if scene in ("unfenced", "two_blocks"):
        assert generation.source == rule_source(0)
        assert generation.thought


def test_a_name_that_does_not_resolve_stops_with_a_sentence(tmp_path: Path) -> None:
    with ModelApi() as api:
        generator = open_api(api, tmp_path, base_url="http://no-such-host.invalid/v1", timeout_s=5.0)
        with pytest.raises(GeneratorError, match=r"Nothing could be reached at http://no-such-host\.invalid"):
            ask(generator)


@pytest.mark.parametrize(("scene", "known"), [("reset_inside", True), ("truncated_json", True)])
def test_what_arrived_of_a_broken_reply_is_kept_and_billed(tmp_path: Path, scene: str, known: bool) -> None:
    with ModelApi([scene]) as api:
        generator = open_api(api, tmp_path)
        ask(generator)
    broken = generator.account.store.calls()[0]
    assert "choices" in str(broken.response)
    assert (broken.tokens_estimated, broken.prompt_tokens > 0) == (known, known)
    assert generator.account.spending().unknown == 1


@pytest.mark.parametrize("scene", ["hang", "slow_drip", "reset", "closed_inside"])
def test_a_request_that_brought_no_whole_reply_counts_with_its_prompt_as_unknown(
    tmp_path: Path, scene: str
) -> None:
    with ModelApi(then=scene) as api:
        generator = open_api(api, tmp_path, tries=1)
        (attempt,) = ask(generator).attempts
    assert attempt.prompt_tokens > 2000
    spent = generator.account.spending()
    assert (spent.calls, spent.unknown, spent.prompt_tokens) == (1, 1, attempt.prompt_tokens)
    assert spent.cost_usd is not None
    assert spent.cost_usd > 0


def test_a_request_that_never_went_out_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(1.0) or [])
    with ModelApi() as api:
        settings = {"base_url": "http://slow-to-be-found.invalid/v1", "tries": 1, "timeout_s": 0.3}
        generator = open_api(api, tmp_path, **settings)
        (attempt,) = ask(generator).attempts
    assert "within 0.3 s" in str(attempt.error)
    spent = generator.account.spending()
    assert (spent.calls, spent.unknown, spent.tokens) == (1, 0, 0)


def test_failed_calls_that_were_billed_are_paid_to_the_last_token(tmp_path: Path) -> None:
    with ModelApi(["billed_failure"]) as api:
        generator = open_api(api, tmp_path)
        ask(generator)
    spent = generator.account.spending()
    assert (spent.calls, spent.answered) == (2, 1)
    assert (spent.prompt_tokens, spent.completion_tokens) == (2000, 400)
    assert spent.cost_usd == 2 * (1000 * Decimal("0.15") + 200 * Decimal("0.6")) / 1_000_000


@pytest.mark.parametrize("scene", ["without_usage", "odd_usage"])
def test_tokens_a_server_does_not_tell_are_guessed_and_marked(tmp_path: Path, scene: str) -> None:
    with ModelApi(then=scene) as api:
        generator = open_api(api, tmp_path)
        ask(generator)
    spent = generator.account.spending()
    assert spent.estimated == 1
    assert 2000 < spent.prompt_tokens < 20_000
    assert 20 < spent.completion_tokens < 500


def test_a_call_is_on_disk_before_it_goes_out(tmp_path: Path) -> None:
    seen: list[Call] = []

    class Watching(ModelApi):
        def take(self, path: str, headers: dict[str, str], body: dict[str, object]) -> str:
            seen.extend(account_at(tmp_path).store.calls())
            return super().take(path, headers, body)

    with Watching() as api:
        ask(open_api(api, tmp_path))
    (before,) = seen
    assert (before.status, before.number, before.prompt_tokens) == ("sent", 1, 0)
    assert api.requests[0].headers["x-client-request-id"] == "bife-g00-c00.1"


@pytest.mark.parametrize(
    "echo",
    [
        KEY,
        '{"error": {"message": "no such key: \\u0073k-marked-0123456789"}}',
        f'{{"a": ["{KEY}"]}}',
        f"http://user:{KEY}@host/",
    ],
)
def test_a_key_is_blotted_out_however_it_is_echoed(tmp_path: Path, echo: str) -> None:
    with ModelApi() as api:
        settings = open_api(api, tmp_path).settings
    cleaned = settings.cleaned(json.loads(echo) if echo.startswith("{") else echo)
    assert KEY not in str(cleaned)
    assert "[key]" in str(cleaned)


def test_secrets_in_the_address_are_never_shown() -> None:
    settings = ModelApiSettings.model_validate(
        {"base_url": "https://me:long-p%40ssword@host:8443/v1?api-key=secret-value", "model": "m"}
    )
    assert settings.address == "https://host:8443/v1"
    assert settings.redact("long-p@ssword long-p%40ssword secret-value me") == "[key] [key] [key] me"


@pytest.mark.parametrize("key", ["local", "token", "0000", "variable", "up", "not-needed"])
def test_a_placeholder_for_a_key_damages_no_answer(tmp_path: Path, key: str) -> None:
    with ModelApi() as api:
        generation = ask(open_api(api, tmp_path, api_key=key))
    assert generation.source == rule_source(0)
    assert generation.attempts[0].prompt_tokens == 1000


def test_a_key_that_is_the_name_of_a_field_loses_no_field(tmp_path: Path) -> None:
    with ModelApi() as api:
        (attempt,) = ask(open_api(api, tmp_path, api_key="completion_tokens")).attempts
    assert (attempt.prompt_tokens, attempt.completion_tokens) == (1000, 200)


def test_a_key_with_a_line_break_is_trimmed_and_one_with_odd_letters_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BIFE_LLM_API_KEY", f" {KEY}\n")
    key = ModelApiSettings.from_environment().api_key
    assert key is not None
    assert key.get_secret_value() == KEY
    monkeypatch.setenv("BIFE_LLM_API_KEY", "schlüssel-geheim")
    with pytest.raises(GeneratorError, match="printable ASCII") as caught:
        ModelApiSettings.from_environment()
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "-2"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 99 Oct 2015 07:28:00 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({}, None),
    ],
)
def test_what_a_server_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_the_first_call_goes_out_alone_and_the_others_follow_together(tmp_path: Path) -> None:
    with ModelApi(then="bad_key") as api:
        generator = open_api(api, tmp_path)
        with ThreadPoolExecutor(16) as pool:
            asked = [pool.submit(ask, generator, f"g00-c{number:02d}") for number in range(16)]
            for future in asked:
                assert isinstance(future.exception(), DraftingStoppedError)
    assert len(api.requests) == 1
