"""A chat API: what becomes of each answer and failure, that a call is stored in time, and that no key is shown."""

from __future__ import annotations

import gzip
import json
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime

import pytest
from pydantic import SecretStr

from bife_core.base.errors import GeneratorError
from bife_core.search import SampleRequest
from bife_core.search.generators.base import DraftingStoppedError, NoDraftError, PromptContext
from bife_core.search.generators.config import GeneratorConfig
from bife_core.search.generators.model_settings import ModelApiSettings, holding_key
from bife_core.search.generators.openai_compatible import OpenAIGenerator, offered
from tests.support.model_answers import MODEL, completion, good_answer, rule_source
from tests.support.model_api import ModelApi, Said
from tests.support.model_scenes import SCENES
from tests.support.stored import STUDY, account_at

ABOUT = PromptContext(benchmark="set_covering")
KEY = "sk-very-secret-0123456789"

REPEATED = {"rate_limited", "server_error", "overloaded", "billed_failure", "reset", "key_in_error"}
"""Scenes that the client sends the same request again after."""

STOPPED = {
    "bad_key": "refused the key; check BIFE_LLM_API_KEY and BIFE_LLM_HEADERS (HTTP 401",
    "forbidden": "refused the key; check BIFE_LLM_API_KEY and BIFE_LLM_HEADERS (HTTP 403",
    "no_model": "check BIFE_LLM_MODEL, BIFE_LLM_BASE_URL and BIFE_LLM_QUERY (HTTP 404",
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
    "reset_inside": "sent no whole answer",
    "hang": "no whole answer within BIFE_LLM_TIMEOUT_S, 1 s",
    "keep_alive": "no whole answer within BIFE_LLM_TIMEOUT_S, 1 s",
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
NO_ADDRESSES = (
    "localhost:80",
    "http://",
    "http://a..b/v1",
    f"http://{'a' * 64}.com/v1",
    "http://127.0.0.1:99999/v1",
    "http://127.0.0.1:x/v1",
    "http://[::1/v1",
    "http://a b/v1",
    '"http://127.0.0.1/v1"',
    "http://127.0.0.1/v1#x",
    "http://127.0.0.1/v1/chat/completions",
    "ftp://127.0.0.1/v1",
)
READ = {"good", "apt", "unfenced", "two_blocks", "without_usage", "odd_usage", "key_in_answer"}


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in ("BASE_URL", "MODEL", "API_KEY", "TIMEOUT_S", "PRICE_IN", "PRICE_OUT"):
        monkeypatch.delenv(f"BIFE_LLM_{name}", raising=False)
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def make(tmp_path):
    def build(api, said=None, **settings):
        config = {name: settings.pop(name) for name in GeneratorConfig.model_fields if name in settings}
        chosen = {"base_url": api.base_url, "model": MODEL, "api_key": KEY, "timeout_s": 5.0, "tries": 2}
        chosen |= {"price_in": "0.15", "price_out": "0.6"}
        account = account_at(tmp_path / "calls", say=(said if said is not None else []).append)
        if model := config.pop("model", None):
            chosen |= {"model": model}
        whole = ModelApiSettings.model_validate(chosen | settings)
        return OpenAIGenerator(GeneratorConfig.model_validate(config), account, whole)

    return build


def request(key="g00-c00", seed=1, *parents):
    operator = "e2" if parents else "i1"
    return SampleRequest(id=key, generation=0, operator=operator, parents=parents, seed=seed)


def ask(generator, key="g00-c00"):
    return generator.generate(request(key), ABOUT)


def call_for(generator, key="g00-c00"):
    ask(generator, key)
    (call,) = generator.account.calls(key)
    return call


def test_every_scene_has_an_expected_outcome():
    assert {*REPEATED, *STOPPED, *UNANSWERED, *NO_RULE, *READ} == set(SCENES)


@pytest.mark.parametrize("scene", sorted(READ))
def test_good_answers_are_read(make, scene):
    with ModelApi(then=scene) as api:
        generator = make(api)
        draft = ask(generator)
    assert draft.failure is None
    assert draft.thought
    assert draft.source is not None
    if scene != "key_in_answer":
        assert draft.source == rule_source(0)
    (call,) = generator.account.calls()
    assert (call.status, call.http_status) == ("ok", 200)


@pytest.mark.parametrize("scene", sorted(REPEATED))
def test_the_client_repeats_what_may_pass_within_one_call(make, scene):
    with ModelApi([scene]) as api:
        generator = make(api, timeout_s=1.0)
        assert ask(generator).source is not None
    assert len(api.requests) == 2
    assert [call.status for call in generator.account.calls()] == ["ok"]


@pytest.mark.parametrize(("scene", "part"), STOPPED.items())
def test_what_no_further_request_would_change_stops_the_run(make, scene, part):
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
    assert len(generator.account.calls()) == 1


@pytest.mark.parametrize(("scene", "part"), UNANSWERED.items())
def test_a_failed_request_is_told_from_a_bad_rule(make, scene, part):
    with ModelApi([scene]) as api:
        generator = make(api, tries=1, timeout_s=1.0)
        draft = ask(generator)
        assert ask(generator, "another").source is not None
    refused = scene in ("context_overflow", "bad_request")
    assert draft.unanswered == ("refused" if refused else "outage")
    if scene == "hang":
        assert generator.account.spending().unknown == 1, "what was billed for it"
    assert part in str(draft.failure)
    assert "\n" not in str(draft.failure)
    assert len(str(draft.failure)) < 500
    assert generator.account.calls()[-1].status == "error"


@pytest.mark.parametrize(("scene", "part"), NO_RULE.items())
def test_an_answer_without_a_rule_is_a_failed_sample(make, scene, part):
    with ModelApi(then=scene) as api:
        generator = make(api, timeout_s=10.0)
        draft = ask(generator)
    assert (len(api.requests), draft.source, draft.unanswered) == (1, None, None)
    assert part in str(draft.failure)
    (call,) = generator.account.calls()
    assert (call.status, call.prompt_tokens) == ("ok", 1000)


def test_tokens_and_cost_are_counted(make):
    with ModelApi(["good", "billed_failure", "without_usage", "odd_usage"]) as api:
        generator = make(api, tries=1)
        good, failed, *guessed = (call_for(generator, key) for key in "abcd")
        free = call_for(make(api, price_in=(), price_out=()), "e")
    price = (1000 * Decimal("0.15") + 200 * Decimal("0.6")) / 1_000_000
    assert (good.prompt_tokens, good.completion_tokens, good.cost_usd) == (1000, 200, price)
    assert (failed.status, failed.cost_usd) == ("error", price)
    assert all(2000 < one.prompt_tokens < 20_000 and 20 < one.completion_tokens < 500 for one in guessed)
    assert generator.account.spending().estimated == 2
    assert free.cost_usd is None


def body(usage=None, end="stop", **message):
    """Return a completion with a message of any form; without `usage` it reports 1000 and 200 tokens."""
    whole = completion(good_answer(0))
    whole["choices"][0] |= {"finish_reason": end}
    whole["choices"][0]["message"] |= message
    return whole | ({} if usage is None else {"usage": usage})


def called(arguments):
    """Return a completion whose message calls a tool and has no text."""
    return body(content=None, end="tool_calls", tool_calls=[{"function": {"arguments": arguments}}])


def chunks(*, end="stop", usage=True, last="data: [DONE]\n\n"):
    """Return the good answer as a server streams it."""
    text = good_answer(0)
    parts = [{"role": "assistant"}, {"reasoning_content": "hm"}]
    parts += [{"content": text[:50]}, {"content": text[50:]}]
    events = [{"choices": [{"index": 0, "delta": part}]} for part in parts]
    events += [{"choices": [{"index": 0, "delta": {}, "finish_reason": end}]}]
    events += [{"choices": [], "usage": completion("")["usage"]}] if usage else []
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + last


RULE = good_answer(0)
ARGUMENTS = {"code": rule_source(0)}
REPLIES = {
    "parts": (body(content=[{"type": "thinking", "text": "hm"}, {"type": "text", "text": RULE}]), None),
    "texts": (body(content=[RULE[:50], RULE[50:]]), None),
    "an odd end": (body(end={"reason": 7}), None),
    "an answer that is a mapping": (body(content={"rule": RULE}), "empty"),
    "an answer that is a number": (body(content=5), "no chat completion"),
    "a call of a tool": (body(content=None, end="tool_calls"), "called a tool where none is offered"),
    "the arguments of a tool": (called(json.dumps(ARGUMENTS)), None),
    "the arguments of a tool as a mapping": (called(ARGUMENTS), None),
    "the arguments of a function": (
        body(content="", function_call={"arguments": json.dumps(ARGUMENTS)}),
        None,
    ),
    "JSON": (body(content=json.dumps(ARGUMENTS)), None),
    **{
        f"an answer in {name}": (body(content=content, **{name: f"Let me think.\n{RULE}"}), None)
        for name in ("reasoning", "reasoning_content", "thinking")
        for content in (None, "")
    },
    "NUL": (body(content=f"{RULE}\0"), None),
    "NUL inside": (body(content=RULE.replace("slack", "sl\0ck")), "no valid Python"),
    "half a character": (body(content=f"\ud800{RULE}"), None),
    "gzip": (gzip.compress(json.dumps(body()).encode()), None),
    "no gzip": (b"no gzip", "incorrect header"),
    "too long": ("x" * 9_000_000, "more than 8,388,608 bytes"),
    "a list": ([1], "no chat completion but [1]"),
    "an error beside an answer": (body() | {"error": {"message": "upstream is down"}}, "upstream is down"),
    "an answer that broke off": (body(end="error"), "broke its answer off"),
    "chunks": (chunks(), None),
    "chunks without tokens": (chunks(usage=False), None),
    "chunks without an end": (chunks(end=None, last=""), "broke its answer off"),
    "an error among chunks": (chunks(end=None, last='data: {"error": {"message": "too busy"}}'), "too busy"),
    "chunks that are cut": (chunks(end=None, last='data: {"cho'), "no chat completion but data:"),
}


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_of_any_form_is_asked_for_once_and_ends_in_a_rule_or_a_sentence(make, reply):
    sent, part = REPLIES[reply]
    headers = {"Content-Encoding": "gzip"} if "gzip" in reply else {}
    with ModelApi(then=Said(200, sent, headers)) as api:
        generator = make(api, timeout_s=10.0)
        draft = ask(generator)
    assert len(api.requests) == 1
    assert (draft.source == rule_source(0)) == (part is None)
    assert (part or "None") in str(draft.failure)
    (call,) = generator.account.calls()
    assert call.response is not None, "what came is stored, and read back"
    known = reply not in ("chunks without tokens", "no gzip", "too long", "chunks that are cut", "a list")
    if part is None:
        assert ((call.prompt_tokens, call.completion_tokens) == (1000, 200)) == known
        assert call.tokens_estimated == (not known)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 1000.0, "completion_tokens": 200.0},
        {"prompt_tokens": "1000.0", "completion_tokens": "200"},
        {"input_tokens": 1000.0, "output_tokens": 200},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        {"prompt_tokens": True, "completion_tokens": 200.5},
        {"prompt_tokens": -1, "completion_tokens": None},
        {"prompt_tokens": {"text": 1000}, "completion_tokens": [200]},
        {"prompt_tokens": 1e300, "completion_tokens": 10**30},
        ["tokens"],
    ],
)
def test_what_cannot_be_a_number_of_tokens_is_guessed_and_marked(make, usage):
    with ModelApi(then=Said(200, body(usage))) as api:
        generator = make(api)
        call = call_for(generator)
    whole = isinstance(usage, dict) and "1000.0" in map(str, usage.values())
    assert ((call.prompt_tokens, call.completion_tokens) == (1000, 200)) == whole
    assert call.prompt_tokens > 500
    assert 20 < call.completion_tokens < 500
    spent = generator.account.spending()
    assert spent.estimated == (not whole)
    assert spent.caveat == ("" if whole else ", the tokens of 1 guessed")


@pytest.mark.parametrize(
    ("content", "end"),
    [(None, "length"), ("", "max_tokens"), ("<think>Let me see.", "length"), (None, "MAX_TOKENS")],
)
def test_a_model_that_only_thinks_is_billed_once_and_the_setting_is_named(make, content, end):
    thought = Said(200, body(content=content, end=end, reasoning_content="hm " * 1000))
    with ModelApi([thought], then=thought) as api:
        generator = make(api)
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(ask, generator, f"g00-c0{number}") for number in range(4)]
            errors = [str(future.exception()) for future in asked]
    assert len(api.requests) == 1
    for error in errors:
        assert "by thinking" in error
        assert "raise generator.max_completion_tokens" in error
    assert generator.account.spending().tokens == 1200, "what was billed is counted"
    with ModelApi(["good", thought]) as api:
        generator = make(api, max_completion_tokens=9000)
        assert ask(generator, "g00-c00").source is not None, "it is no answer that would be used again"
        draft = ask(generator, "g00-c01")
        assert (draft.unanswered, len(api.requests)) == ("outage", 2), "one among others stops nothing"
        assert api.requests[0].body["max_completion_tokens"] == 9000


def ask_all(generator, count):
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda number: ask(generator, f"g00-c{number:02d}"), range(count)))


@pytest.mark.parametrize("content", ["", "<think></think>\n"])
def test_answers_in_the_reasoning_are_read_and_the_settings_are_named_once(make, content):
    said = list[str]()
    with ModelApi(then=Said(200, body(content=content, reasoning=RULE))) as api:
        generator = make(api, said)
        assert all(draft.source == rule_source(0) for draft in ask_all(generator, 4))
    assert {call.answered_in for call in generator.account.calls()} == {"reasoning"}
    (about,) = (one for one in said if "`reasoning`" in one)
    for setting in ("reasoning_effort=none", "--reasoning-parser", "--reasoning-format", "LM Studio"):
        assert setting in about


@pytest.mark.parametrize(
    "message", [{"reasoning": "What would help?"}, {}, {"content": "<think>Let me see."}]
)
def test_a_run_whose_first_answers_have_no_text_stops_early_and_goes_on(make, message):
    with ModelApi(then=Said(200, body(**{"content": "", **message}))) as api:
        generator = make(api)
        reason = r"no text in its first 3 answers.*reasoning_effort=none"
        with pytest.raises(DraftingStoppedError, match=reason):
            ask_all(generator, 16)
        assert len(api.requests) == 3
    with ModelApi() as api:
        generator = make(api)
        assert sum(draft.source is None for draft in ask_all(generator, 16)) == 2
        assert len(api.requests) == 14, "what stopped the run is asked anew"


class Single(ModelApi):
    """Answers one request at once, within `slow_s`: refuses others, or lets them wait."""

    refusal, slow_s, under_way, most = Said(429, {"error": {"message": "one at once"}}), 0.1, 0, 0
    turn = threading.Lock()

    def take(self, path, headers, body):
        scene = super().take(path, headers, body)
        with self._lock:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            alone = self.under_way == 1
        try:
            if self.refusal is not None and not alone:
                return self.refusal
            with self.turn:
                time.sleep(self.slow_s)
            return scene
        finally:
            with self._lock:
                self.under_way -= 1


@pytest.mark.parametrize(
    "refusal", [Single.refusal, Said(503, "busy"), Said(429, "", {"Retry-After": "0.2"})]
)
def test_a_server_that_takes_one_request_at_once_answers_all(make, refusal):
    said = list[str]()
    with Single() as api:
        api.refusal = refusal
        generator = make(api, said)
        assert all(draft.source is not None for draft in ask_all(generator, 12))
        assert len(api.requests) < 12 + 16, "what it takes is learned"
    assert generator.account.spending().calls == 12
    assert sum("BIFE_LLM_CONCURRENCY" in one for one in said) == 1


def test_no_more_requests_are_under_way_than_the_setting_says(make, monkeypatch):
    monkeypatch.setenv("BIFE_LLM_CONCURRENCY", "2")
    with Single() as api:
        api.refusal, api.slow_s = None, 0.02
        settings = ModelApiSettings.from_environment()
        ask_all(make(api, concurrency=settings.concurrency), 8)
        assert api.most == 2


def test_what_timed_out_behind_others_of_the_run_is_asked_once_more(make):
    with Single() as api:
        api.refusal, api.slow_s = None, 0.3
        generator = make(api, timeout_s=1.0)
        assert all(draft.source is not None for draft in ask_all(generator, 5))


def in_2_s():
    return format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)


@pytest.mark.parametrize(("wait", "least_s"), [(lambda: "0.7", 0.7), (in_2_s, 0.8)])
def test_a_server_is_asked_again_when_it_says(make, wait, least_s):
    with ModelApi([Said(429, {"error": {"message": "later"}}, {"Retry-After": wait()})]) as api:
        assert ask(make(api)).source is not None
    first, second = api.requests
    assert least_s <= second.received_s - first.received_s < 4.0


def test_a_server_that_asks_to_wait_for_an_hour_is_not_waited_for(make):
    with ModelApi(then=Said(429, {"error": {"message": "later"}}, {"Retry-After": "3600"})) as api:
        draft = ask(make(api))
    assert (len(api.requests), draft.unanswered) == (1, "outage")
    assert "BIFE_LLM_TRIES" in str(draft.failure)


@pytest.mark.parametrize(
    "words", [{"error": {"code": 503, "message": "Loading model"}}, {"error": "Model m is currently loading"}]
)
def test_a_model_that_loads_is_waited_for(make, words):
    said = list[str]()
    loading = Said(503, words, {"Retry-After": "0.05"})
    with ModelApi([loading] * 9) as api:
        assert ask(make(api, said)).source is not None
        assert sum("loads its model" in one for one in said) == 1
    with ModelApi(then=Said(503, "failed while loading m")) as api:
        assert ask(make(api), "another").unanswered == "outage"
        assert len(api.requests) == 2


@pytest.mark.parametrize(
    "error",
    [
        {"error": "overloaded"},
        {"error": {"message": "Provider returned error", "code": 502}},
        {"error": {"message": "busy", "code": 503}, "choices": []},
        {"error": {"message": "later", "code": "rate_limit"}, "choices": None},
    ],
)
def test_a_good_status_with_an_error_alone_is_repeated(make, error):
    with ModelApi([Said(200, error)]) as api:
        generator = make(api)
        assert ask(generator).source is not None
    assert (len(api.requests), generator.account.spending().calls) == (2, 1)


def test_a_good_status_of_a_path_that_is_not_served_stops_the_run(make):
    path = {"error": "Unexpected endpoint or method. (POST /chat/completions). Returning 200 anyway"}
    with ModelApi([Said(200, path)]) as api, pytest.raises(DraftingStoppedError, match="BIFE_LLM_BASE_URL"):
        ask(make(api))


@pytest.mark.parametrize(
    ("tokens", "cut"), [(500, True), (2048, True), (2050, True), (3000, False), (2500, False)]
)
def test_a_prompt_that_the_server_cut_is_said_once(make, tokens, cut):
    said = list[str]()
    with ModelApi(then=Said(200, body({"prompt_tokens": tokens, "completion_tokens": 9}))) as api:
        generator = make(api, said)
        assert all(ask(generator, key).source is not None for key in ("a", "b"))
    assert sum("OLLAMA_CONTEXT_LENGTH" in one for one in said) == cut


class Particular(ModelApi):
    """Refuses parameters in its own words."""

    words: dict[str, object] = {}  # noqa: RUF012

    def take(self, path, headers, body):
        scene = super().take(path, headers, body)
        return next((Said(400, said) for name, said in self.words.items() if name in body), scene)


def test_a_parameter_that_a_server_refuses_is_left_out_and_that_is_said_once(make):
    only_1 = "Temperature 0.5 is not supported with this model. Only 1 is supported."
    said = list[str]()
    wanted = {"temperature": 0.5, "reasoning_effort": "low", "max_completion_tokens": 90}
    with Particular() as api:
        api.words = {
            "temperature": {"error": {"message": only_1}},
            "max_completion_tokens": "Unrecognized request argument supplied: max_completion_tokens",
        }
        generator = make(api, said, **wanted)
        assert all(ask(generator, key).source is not None for key in ("a", "b"))
        assert len(api.requests) == 4, "once for each of the two, and the two calls"
        again = make(api, said, **wanted)
        assert all(ask(again, key).source is not None for key in ("a", "c"))
        assert len(api.requests) == 5, "a search that goes on knows it"
    said = [one for one in said if "refuses" in one]
    assert [len(said), "refuses temperature" in said[0], only_1[:-1] in said[0]] == [2, True, True]
    assert generator.account.spending().calls == 3
    last = api.requests[-1].body
    assert (last["reasoning_effort"], last["max_tokens"]) == ("low", 90)
    assert not {"temperature", "max_completion_tokens", "stream"} & set(last)


def test_a_number_of_tokens_that_is_too_large_is_for_the_user_to_change(make):
    with Particular() as api:
        api.words = {"max_completion_tokens": "max_completion_tokens is too large: at most 4096"}
        draft = ask(make(api, max_completion_tokens=9000))
    assert (draft.unanswered, len(api.requests)) == ("refused", 1)
    assert "at most 4096" in str(draft.failure)


def test_a_server_that_only_streams_is_asked_to(make):
    class Streaming(ModelApi):
        def take(self, path, headers, body):
            super().take(path, headers, body)
            wanted = body.get("stream") is True and body["stream_options"] == {"include_usage": True}
            return Said(200, chunks()) if wanted else Said(400, {"detail": "Stream must be set to true"})

    with Streaming() as api:
        generator = make(api)
        drafts = [ask(generator, key) for key in ("a", "b")]
    assert [draft.source for draft in drafts] == [rule_source(0)] * 2
    assert (len(api.requests), generator.account.spending().tokens) == (3, 2400)


@pytest.mark.parametrize("status", [504, 524])
def test_where_a_gateway_does_not_wait_the_model_is_not_asked_again(make, status):
    with ModelApi(then=Said(status, "timeout")) as api:
        generator = make(api)
        assert f"HTTP {status}: timeout" in str(ask(generator).failure)
    assert (len(api.requests), generator.account.spending().unknown) == (1, 1)


@pytest.mark.parametrize(
    ("status", "part"), [(402, "no credit"), (403, "refused the key"), (404, "BIFE_LLM_MODEL")]
)
def test_a_plain_text_that_refuses_is_shown(make, status, part):
    gateway = ModelApi(then=Said(status, "by the gateway"))
    with gateway as api, pytest.raises(DraftingStoppedError, match=part) as end:
        ask(make(api))
    assert f"(HTTP {status}: by the gateway)" in str(end.value)


def test_a_gateway_gets_its_query_and_headers_and_they_are_kept_secret(tmp_path, monkeypatch, caplog):
    caplog.set_level("DEBUG")
    secret = "0123456789-secret"
    with ModelApi([Said(400, {"error": {"message": f"odd: {secret}"}})]) as api:
        headers = f"api-key: {secret}\n X-Team : a:b "
        api.configure(monkeypatch, query="?api-version=2024-10-21&x=", headers=headers)
        generator = OpenAIGenerator(GeneratorConfig(), account_at(tmp_path))
        shown = [str(ask(generator).failure), repr(ask(generator, "b")), repr(generator.settings)]
    for received in api.requests:
        assert received.path == "/v1/chat/completions?api-version=2024-10-21&x="
        assert (received.headers["api-key"], received.headers["x-team"]) == (secret, "a:b")
        assert "authorization" not in received.headers
    shown += ["".join(path.read_bytes().decode("latin-1") for path in tmp_path.iterdir()), caplog.text]
    assert len(caplog.text) > 1000
    assert not [text for text in shown if secret in text]


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens_details": {"cached_tokens": 600}}, {"prompt_cache_hit_tokens": 600}]
)
def test_cached_tokens_are_counted_and_cost_their_own_price(make, usage):
    body = completion(f"```python\n{rule_source(0)}```")
    body["usage"] |= usage
    with ModelApi(then=Said(200, body)) as api:
        cached = call_for(make(api, price_cached="0.015"))
        full = call_for(make(api), "b")
    assert (cached.prompt_tokens, cached.cached_tokens, full.cached_tokens) == (1000, 600, 600)
    answer = 200 * Decimal("0.6")
    assert cached.cost_usd == (400 * Decimal("0.15") + 600 * Decimal("0.015") + answer) / 1_000_000
    assert full.cost_usd == (1000 * Decimal("0.15") + answer) / 1_000_000


def test_each_of_several_models_is_asked_in_turn_and_has_its_price(make):
    with ModelApi(then="good") as api:
        generator = make(api, model="small, large", price_in="1,10", price_out="0")
        for k in range(3):
            generator.generate(request(f"g00-c0{k}").model_copy(update={"number": k}), ABOUT)
        make(api, model="small, large", price_in=()).generate(request("g00-c00"), ABOUT)
        assert len(api.requests) == 3
    assert [received.body["model"] for received in api.requests] == ["small", "large", "small"]
    costs = [call.cost_usd for call in generator.account.calls()]
    assert costs == [Decimal("0.001"), Decimal("0.01"), Decimal("0.001")]
    with pytest.raises(GeneratorError, match="BIFE_LLM_PRICE_IN has 3 prices for 2 models"):
        make(api, model="small,large", price_in="1,2,3")


def test_the_request_carries_prompt_temperature_and_the_name_of_the_call(make):
    with ModelApi(key=KEY) as api:
        call = call_for(make(api, temperature=0.5), "a/b")
    with ModelApi() as other:
        assert ask(make(other, api_key=None), "c").source is not None
    (received,) = api.requests
    assert received.path == "/v1/chat/completions"
    assert (received.body["model"], received.body["temperature"]) == (MODEL, 0.5)
    assert received.body["messages"] == [message.model_dump() for message in call.messages]
    assert received.headers["x-client-request-id"] == f"bife-{STUDY}.a%2Fb.1"
    assert "temperature" not in other.requests[0].body
    assert "authorization" not in other.requests[0].headers


def test_a_call_is_stored_before_it_goes_out_and_its_answer_before_it_is_read(make, tmp_path, monkeypatch):
    seen = []

    class Watching(ModelApi):
        def take(self, path, headers, body):
            seen.extend(account_at(tmp_path / "calls").calls())
            return super().take(path, headers, body)

    def crash(*_, **__):
        raise KeyboardInterrupt

    with Watching() as api:
        generator = make(api)
        with monkeypatch.context() as patched:
            patched.setattr("bife_core.search.generators.openai_compatible.read_answer", crash)
            with pytest.raises(KeyboardInterrupt):
                ask(generator)
        assert ask(make(api)).source is not None
        assert len(api.requests) == 1, "a recorded answer is not billed again"
    (before,) = seen
    assert (before.status, before.number, before.prompt_tokens) == ("sent", 1, 0)


def test_the_key_is_nowhere_to_be_read(make, tmp_path):
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


def test_a_key_is_blotted_out_however_it_is_spelled_and_a_placeholder_is_left():
    known = {"base_url": "http://here/v1", "model": "m"}
    settings = ModelApiSettings.model_validate(known | {"api_key": KEY})
    for echo in (f"no such key: {KEY}", json.dumps({"a": [KEY]}), '{"a": "\\u0073' + KEY[1:] + '"}'):
        assert KEY not in str(settings.cleaned(echo))
        assert "[key]" in str(settings.cleaned(echo))
    local = ModelApiSettings.model_validate(known | {"api_key": "local"})
    assert local.cleaned('"a local rule"') == "a local rule"
    assert local.cleaned("[NaN, 1e999]") == ["NaN", "Infinity"], "the store's database reads no others"


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({}, "BIFE_LLM_BASE_URL and BIFE_LLM_MODEL, for instance BIFE_LLM_BASE_URL="),
        ({"model": "m"}, "BIFE_LLM_BASE_URL"),
        ({"base_url": "http://localhost/v1"}, "BIFE_LLM_MODEL"),
    ],
)
def test_missing_settings_are_named(tmp_path, settings, missing):
    with pytest.raises(GeneratorError, match=f"set {missing}"):
        OpenAIGenerator(GeneratorConfig(), account_at(tmp_path), ModelApiSettings.model_validate(settings))


def test_settings_come_from_the_environment(monkeypatch):
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
        ("HEADERS", "secret"),
        ("HEADERS", "X-Key: secret\nX-Other: sécret"),
        *(("BASE_URL", address) for address in NO_ADDRESSES),
        ("BASE_URL", "http://me:secret-value@host/v1"),
        ("BASE_URL", "http://host/v1?code=secret-value"),
        ("API_KEY", "schlüssel-secret-value"),
        ("API_KEY", "two\nlines-secret"),
    ],
)
def test_a_bad_setting_is_named_without_secrets(monkeypatch, name, value):
    monkeypatch.setenv("BIFE_LLM_API_KEY", KEY)
    monkeypatch.setenv(f"BIFE_LLM_{name}", value)
    with pytest.raises(GeneratorError, match=f"BIFE_LLM_{name}") as caught:
        ModelApiSettings.from_environment()
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_which_of_several_keys_is_used(monkeypatch):
    def key():
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
def test_what_an_api_offers_is_asked_for_without_a_paid_call(listing, names):
    with ModelApi(listing=listing) as api:
        settings = ModelApiSettings.model_validate({"base_url": api.base_url, "model": MODEL})
        if isinstance(names, list):
            assert offered(settings) == names
        else:
            with pytest.raises(NoDraftError) as caught:
                offered(settings)
            assert type(caught.value) is names
    assert not api.requests
