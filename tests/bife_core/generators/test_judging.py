"""Replies as providers really send them: what each means for the run, and what it cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bife_core.generators.base import Draft, DraftingStoppedError
from bife_core.generators.model_settings import ModelApiSettings
from bife_core.generators.openai_compatible import OpenAIGenerator
from bife_core.generators.prompt_context import PromptContext
from bife_core.search import SampleRequest
from tests.support.model_answers import MODEL, completion, good_answer, rule_source
from tests.support.model_api import ModelApi, Said
from tests.support.stored import account_at

REQUEST = SampleRequest(id="g00-c00", generation=0, operator="i1", seed=1)
ABOUT = PromptContext(benchmark="toys")
EARLY = "def candidate_variable_score(variable_features):\n    if variable_features[18] > 0.5:\n        return 1.0\n"


@pytest.fixture
def ask(tmp_path: Path) -> Any:
    def answered(*script: Said, **settings: object) -> tuple[Draft, ModelApi, OpenAIGenerator]:
        with ModelApi(script) as api:
            chosen = {"base_url": api.base_url, "model": MODEL, "tries": 2, "max_wait_s": 0.3} | settings
            account = account_at(tmp_path)
            generator = OpenAIGenerator(ModelApiSettings.model_validate(chosen), account, backoff_s=0.02)
            return generator.generate(REQUEST, ABOUT), api, generator

    return answered


def choice(text: str | None, reason: str | None, **more: object) -> Said:
    """Return a completion whose only choice has `more` fields."""
    body = completion(text)
    body["choices"][0] |= {"finish_reason": reason, **more}
    return Said(200, body)


def failed(code: object, message: str = "it failed") -> dict[str, object]:
    return {"error": {"code": code, "message": message}}


@pytest.mark.parametrize(
    ("reply", "part"),
    [
        (choice("", "error", **failed(502)), "HTTP 502: it failed"),
        (choice("{A draft}", "error", **failed("429")), "HTTP 429: it failed"),
        (choice(good_answer(7), "error"), "broke its answer off (finish_reason 'error')"),
        (choice(EARLY, "insufficient_system_resource"), "'insufficient_system_resource'"),
        (
            Said(200, completion(good_answer(7)) | failed(None)),
            "an error in place of an answer (HTTP 200: it failed)",
        ),
        (Said(200, {"error": "upstream is down"}), "upstream is down"),
    ],
)
def test_an_error_in_a_reply_of_a_good_status_is_no_answer(ask: Any, reply: Said, part: str) -> None:
    draft, api, generator = ask(reply)
    assert [attempt.status for attempt in draft.attempts] == ["error", "ok"]
    assert part in str(draft.attempts[0].error)
    assert draft.source == rule_source(0)
    assert len(api.requests) == 2
    assert [call.answer is None for call in generator.account.store.calls()] == [True, False]


@pytest.mark.parametrize("error", [None, {}, "", {"message": "", "type": "", "code": None}, {"code": 0}])
def test_an_empty_error_beside_an_answer_is_none(ask: Any, error: object) -> None:
    draft, api, _ = ask(Said(200, completion(good_answer(7)) | {"error": error}))
    assert (draft.source, len(api.requests)) == (rule_source(7), 1)


def test_what_was_written_before_an_error_is_billed_though_the_server_tells_no_tokens(ask: Any) -> None:
    reply = choice(good_answer(7), "error")
    assert isinstance(reply.body, dict)
    del reply.body["usage"]
    draft, _, generator = ask(reply)
    assert draft.attempts[0].completion_tokens > 50
    assert generator.account.spending().unknown == 1


@pytest.mark.parametrize("reason", ["length", "max_tokens", "abort", "model_length"])
def test_a_rule_is_not_taken_before_its_end(ask: Any, reason: str) -> None:
    draft, _, _ = ask(choice(EARLY, reason))
    assert draft.source is None
    assert "cut off" in str(draft.failure)
    assert ("length limit" in str(draft.failure)) == (reason == "length")


@pytest.mark.parametrize("reason", ["stop", "eos_token", "COMPLETE", "tool_calls", "", None])
def test_a_rule_without_a_fence_is_taken_at_its_end(ask: Any, reason: str | None) -> None:
    assert ask(choice(EARLY, reason))[0].source == EARLY


def test_an_empty_answer_can_be_sent_back(ask: Any) -> None:
    draft, _, generator = ask(choice("", "stop"))
    assert "empty" in str(draft.failure)
    with ModelApi() as api:
        generator.settings = generator.settings.model_copy(update={"base_url": api.base_url})
        second = generator.repair(REQUEST, ABOUT, draft, str(draft.failure))
    assert second is not None
    assert second.source == rule_source(0)
    assert [message["content"] for message in api.requests[0].body["messages"]][1] == "(no text)"


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 4135}, (32, 4103)),
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 41}, (32, 9)),
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 7}, (32, 9)),
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": "many"}, (32, 9)),
        ({"prompt_tokens": 32, "total_tokens": 41}, (32, 9)),
    ],
)
def test_reasoning_that_only_the_total_tells_of_is_counted(
    ask: Any, usage: dict[str, object], tokens: tuple[int, int]
) -> None:
    draft, _, generator = ask(Said(200, completion(good_answer(0)) | {"usage": usage}))
    (attempt,) = draft.attempts
    assert (attempt.prompt_tokens, attempt.completion_tokens) == tokens
    assert generator.account.spending().estimated == 0


def test_only_the_parts_of_an_answer_that_are_text_are_read(ask: Any) -> None:
    parts = [
        {"type": "thinking", "text": good_answer(3)},
        {"type": "reasoning", "thinking": [{"type": "text", "text": "a draft"}]},
        {"type": "text", "text": good_answer(4)[:30]},
        {"type": "output_text", "text": good_answer(4)[30:50]},
        {"text": good_answer(4)[50:]},
        {"type": "text", "text": None},
        "odd",
    ]
    body = completion(None)
    body["choices"][0]["message"]["content"] = parts
    draft, _, _ = ask(Said(200, body))
    assert draft.source == rule_source(4)
    assert draft.attempts[0].answer == good_answer(4)


@pytest.mark.parametrize(
    "body",
    [
        [{"error": {"code": 400, "message": "the cause"}}],
        {"detail": "the cause"},
        {"detail": [{"loc": ["body"], "msg": "the cause", "type": "missing"}]},
        {"errors": ["the cause"]},
        {"errors": [{"message": "the cause"}]},
        {"error": "the cause"},
        {"error": "Bad Request", "message": "the cause"},
        {"object": "error", "message": "the cause", "code": 400},
        {"status": {"text": "the cause"}},
        "the cause, in no JSON",
    ],
)
def test_the_cause_of_a_refusal_is_told_in_whatever_it_is_wrapped(ask: Any, body: object) -> None:
    draft, api, _ = ask(Said(400, body))
    assert "did not accept the request (HTTP 400: " in str(draft.failure)
    assert "the cause" in str(draft.failure)
    assert len(api.requests) == 1


def test_a_refusal_without_a_word_says_so(ask: Any) -> None:
    assert "(HTTP 400: without a reason)" in str(ask(Said(400, ""))[0].failure)


@pytest.mark.parametrize(
    "body",
    [{"detail": "Unknown model: x"}, [{"error": {"message": "models/x is not found. Model x not found"}}]],
)
def test_an_unknown_model_is_recognised_in_wrapped_errors(ask: Any, body: object) -> None:
    with pytest.raises(DraftingStoppedError, match="There is no model"):
        ask(Said(400, body))


EMPTY = [
    (
        400,
        {
            "error": {
                "message": "Your credit balance is too low to access the API.",
                "type": "invalid_request_error",
            }
        },
    ),
    (
        400,
        {"error": {"message": "Billing hard limit has been reached", "code": "billing_hard_limit_reached"}},
    ),
    (400, {"error": {"message": "Please enable billing on your project."}}),
    (400, {"error": {"message": "Access denied.", "code": "Arrearage"}}),
    (402, {"error": {"message": "Insufficient Balance"}}),
    (
        403,
        {"error": "Your team has either used all available credits or reached its monthly spending limit."},
    ),
    (429, {"error": {"message": "Go away.", "type": "exceeded_current_quota_error"}}),
    (
        429,
        {
            "error": {
                "message": "You exceeded your current quota, please check your plan and billing details."
            }
        },
    ),
    (200, {"error": {"message": "Insufficient credits"}}),
    (200, completion("") | {"error": {"message": "x", "code": "insufficient_quota"}}),
]


@pytest.mark.parametrize(("status", "body"), EMPTY)
def test_an_empty_account_stops_the_search_whatever_the_status(ask: Any, status: int, body: object) -> None:
    with pytest.raises(DraftingStoppedError, match="has no credit left"):
        ask(Said(status, body))


GEMINI = {
    "code": 429,
    "message": "You exceeded your current quota, please check your plan and billing details.",
    "status": "RESOURCE_EXHAUSTED",
    "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.4s"}],
}


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (429, [{"error": GEMINI}], {}),
        (429, {"error": GEMINI | {"details": []}}, {"Retry-After": "0.2"}),
        (
            429,
            {"error": {"message": "Rate limit reached. Add a payment method in your billing settings."}},
            {},
        ),
        (429, {"error": {"message": "The quota of requests per minute is used up."}}, {}),
        (
            429,
            {"error": {"message": "Quota exceeded for generate_content_requests_per_minute_per_project."}},
            {},
        ),
        (
            429,
            {"error": {"message": "Look at your quota.", "status": "RESOURCE_EXHAUSTED"}},
            {},
        ),
        (429, {"error": {"message": "Your quota is used up.", "code": "rate_limit_exceeded"}}, {}),
        (429, {"error": {"message": "Too many requests: concurrency quota reached."}}, {}),
    ],
)
def test_a_rate_limit_that_speaks_of_quota_or_billing_passes(
    ask: Any, status: int, body: object, headers: dict[str, str]
) -> None:
    draft, api, _ = ask(Said(status, body, headers), Said(status, body, headers), Said(status, body, headers))
    assert (draft.source, len(api.requests)) == (rule_source(0), 4)


def test_a_delay_in_the_body_is_waited_for(ask: Any) -> None:
    _, api, _ = ask(Said(429, [{"error": GEMINI}]), max_wait_s=5.0)
    assert api.requests[1].received_s - api.requests[0].received_s >= 0.4


@pytest.mark.parametrize(
    "said",
    [
        "The text holds a credit card number.",
        "This model has too many tokens.",
        "The load balancer is unhappy.",
        "max_tokens exceeds the quota of this model.",
        "Attribution and credit to copyrighted code cannot be given.",
    ],
)
def test_other_refusals_are_not_taken_for_an_empty_account(ask: Any, said: str) -> None:
    assert ask(Said(400, {"error": {"message": said}}))[0].unanswered == "refused"
