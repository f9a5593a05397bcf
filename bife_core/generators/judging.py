"""What a reply of a chat API means for the run: an answer, another try, a failed sample, or a person's turn."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal

import openai

from bife_core.generators.model_settings import ModelApiSettings
from bife_core.generators.wire import Received

_MESSAGE_LENGTH: Final = 300
_MOST_TOKENS: Final = 10**9
# Some servers report an unknown model as a bad request, each in its own words.
_NO_SUCH_MODEL: Final = re.compile(
    r"(unknown|invalid|unsupported|no such) model"
    r"|model[^.]{0,80}\bnot (exist|found|supported|available)"
    r"|supported (api )?model names",
    re.IGNORECASE,
)
# An empty account has many statuses: some have a code for it, others only a sentence.
_NO_CREDIT_CODE: Final = re.compile(
    r"insufficient_(quota|balance|credit|fund)|current_quota|billing|arrear", re.IGNORECASE
)
_NO_CREDIT: Final = re.compile(
    r"\b(billing|quota|spending limit|credits?(?! card)|(account|your|insufficient) (balance|funds))\b|\barrear",
    re.IGNORECASE,
)
# Refusals for a rate limit mention quota and billing too, as advice.
_PASSING: Final = re.compile(
    r"rate.?limit|throttl|too many|concurren|resource.(has.been.)?exhausted|per (second|min|hour|day)|try again|retry",
    re.IGNORECASE,
)
# A request that is bad for its content may speak of quotas and credits as well.
_EMPTY_ACCOUNT: Final = re.compile(
    r"(credit|account) balance|insufficient (balance|funds|credit)|billing", re.IGNORECASE
)
_RETRY_DELAY: Final = re.compile(r"retryDelay\W{1,16}(\d+(?:\.\d+)?)s")
_ERROR_STATUS: Final = re.compile(r"[45]\d\d")
_BROKEN_OFF: Final = frozenset({"error", "insufficient_system_resource"})
_TEXT_PARTS: Final = (None, "text", "output_text")

ReplyOutcome = Literal["ok", "retry", "fail", "stop"]


@dataclass(frozen=True, slots=True)
class Reply:
    """Outcome of one call.

    Attributes
    ----------
    outcome : str
        "ok": there is an answer. "retry": the same call may succeed later. "fail": this prompt will not
        succeed. "stop": no call will succeed until a person changes something.
    problem : str or None
        What went wrong, as a sentence; None for "ok".
    unreachable : bool
        Whether no connection was made at all.
    lost : bool
        Whether the request went out and no whole reply came, so that nobody knows what was billed.
    rate_limited : bool
        Whether it was one request too many for now.
    retry_after_s : float or None
        Seconds the server asked to wait.
    answer : str or None
        The model's text; of another outcome than "ok" what there was of it.
    prompt_tokens, completion_tokens : int or None
        Tokens the server reported; None where it did not.
    """

    outcome: ReplyOutcome
    problem: str | None = None
    http_status: int | None = None
    retry_after_s: float | None = None
    unreachable: bool = False
    lost: bool = False
    rate_limited: bool = False
    answer: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    response: Any = None


def judge_error(
    settings: ModelApiSettings, error: TimeoutError | openai.APIError, limit_s: float, received: Received
) -> Reply:
    """Say what an exception of the openai package means for this call and for the run."""
    if isinstance(error, openai.APIStatusError):
        return _judge_status(settings, error)
    reply = _judge_connection(settings, error, limit_s)
    reply = replace(reply, http_status=received.status, lost=received.sent)
    return _with_body(reply, json_or_text(settings, received.text)) if received.body else reply


def _judge_connection(
    settings: ModelApiSettings, error: TimeoutError | openai.APIError, limit_s: float
) -> Reply:
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Reply("retry", f"{settings.address} gave no complete answer within {limit_s:g} s.")
    if isinstance(error, openai.APIConnectionError):
        causes: list[BaseException] = [error]
        while (cause := causes[-1].__cause__) is not None:
            causes.append(cause)
        # The openai package rides on httpx or httpx2, depending on its version; both have this name.
        refused = any(type(one).__name__ == "ConnectError" for one in causes)
        detail = shortened(settings, str(causes[-1]) or type(causes[-1]).__name__)
        what = "Nothing could be reached at" if refused else "The connection broke off to"
        return Reply("retry", f"{what} {settings.address} ({detail}).", unreachable=refused)
    return Reply(
        "retry", f"{settings.address} sent a reply that cannot be read ({shortened(settings, str(error))})."
    )


def _judge_status(settings: ModelApiSettings, error: openai.APIStatusError) -> Reply:
    status, headers = error.status_code, error.response.headers
    response = json_or_text(settings, error.response.text)
    if 300 <= status < 400:
        location = headers.get("location")
        where = f" to {shortened(settings, location.partition('?')[0])}" if location else ""
        problem = f"{settings.address} has moved{where} (HTTP {status}): check BIFE_LLM_BASE_URL."
        return _with_body(Reply("stop", problem, http_status=status), response)
    return _with_body(_judge_body(settings, status, response, retry_after_s(headers)), response)


def _judge_body(settings: ModelApiSettings, status: int, body: Any, waiting_s: float | None = None) -> Reply:
    """Judge a body that tells an error; where the HTTP status is good, the error's own code stands in for it."""
    error = _unwrapped(body)
    fields = error if isinstance(error, dict) else {"message": error}
    code, kind = str(fields.get("code")), str(fields.get("type"))
    meant = int(code) if status < 400 and _ERROR_STATUS.fullmatch(code) else status
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    sentence = next((fields[name] for name in ("message", "msg") if isinstance(fields.get(name), str)), text)
    said = shortened(settings, sentence) if body and sentence else "without a reason"
    delay = _RETRY_DELAY.search(text)
    if waiting_s is None and delay is not None:
        waiting_s = float(delay[1])
    named = f"{code} {kind} {fields.get('status')}"
    passing = waiting_s is not None or bool(_PASSING.search(f"{named} {sentence}".replace("_", " ")))
    outcome, problem = _judge_code(settings, meant, named, said, passing)
    limited = outcome == "retry" and meant == 429
    return Reply(outcome, problem, http_status=status, retry_after_s=waiting_s, rate_limited=limited)


def _unwrapped(body: Any) -> Any:
    """Return the error in a body: an object with a message, or a text, in a list or under one name or another."""
    if isinstance(body, list) and body:
        return _unwrapped(body[0])
    if isinstance(body, dict) and not isinstance(body.get("message"), str):
        inner = next((body[name] for name in ("error", "errors", "detail") if body.get(name)), None)
        return body if inner is None else _unwrapped(inner)
    return body


def _judge_code(
    settings: ModelApiSettings, status: int, code: str, said: str, passing: bool
) -> tuple[ReplyOutcome, str]:
    """Return what a status, the error's own code and its sentence mean, and the sentence that says so."""
    where = settings.address
    if status == 402 or _tells_of_no_credit(status, code, said, passing):
        return "stop", f"The account at {where} has no credit left (HTTP {status}: {said})."
    if status in (401, 403, 407):
        action = "check BIFE_LLM_API_KEY" if settings.api_key is not None else "set BIFE_LLM_API_KEY"
        return "stop", f"{where} refused the key (HTTP {status}: {said}): {action}."
    unknown = "model_not_found" in code or (status == 400 and _NO_SUCH_MODEL.search(said))
    if status in (404, 410) or unknown:
        problem = (
            f"There is no model {settings.model!r} at {where} (HTTP {status}: {said}); "
            "check BIFE_LLM_MODEL and BIFE_LLM_BASE_URL."
        )
        return "stop", problem
    if status in (405, 501):
        return "stop", f"{where} is no chat API (HTTP {status}: {said}): check BIFE_LLM_BASE_URL."
    if status < 400:
        return "retry", f"{where} sent an error in place of an answer (HTTP {status}: {said})."
    if status in (408, 409, 425, 429) or status >= 500:
        return "retry", f"{where} answered HTTP {status}: {said}."
    return "fail", f"{where} did not accept the request (HTTP {status}: {said})."


def _tells_of_no_credit(status: int, code: str, said: str, passing: bool) -> bool:
    if _NO_CREDIT_CODE.search(code):
        return True
    text = said.replace("_", " ")
    if status in (400, 422):
        return _EMPTY_ACCOUNT.search(text) is not None
    return status in (200, 403, 429) and not passing and _NO_CREDIT.search(text) is not None


def read_completion(settings: ModelApiSettings, status: int, text: str) -> Reply:
    """Take answer, reason of the end and token counts from the text of a reply with a good status."""
    response = json_or_text(settings, text)
    body = response if isinstance(response, dict) else {}
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message, reason = first.get("message"), first.get("finish_reason")
    # Gateways hide the errors of those behind them in replies of a good status.
    failed = next((part for part in (first, body) if _says_something(part.get("error"))), None)
    if failed is not None:
        reply = _judge_body(settings, status, {"error": failed["error"]})
    elif not isinstance(message, dict):
        found = shortened(settings, text) or "an empty body"
        problem = (
            f"{settings.address} was expected to send a chat completion and sent something else ({found}); "
            "if that persists, check BIFE_LLM_BASE_URL."
        )
        reply = Reply("retry", problem, http_status=status)
    elif str(reason).lower() in _BROKEN_OFF:
        problem = f"{settings.address} broke its answer off (finish_reason {reason!r})."
        reply = Reply("retry", problem, http_status=status)
    else:
        reply = Reply("ok", http_status=status)
    if isinstance(message, dict):
        ending = reason if isinstance(reason, str) else None
        reply = replace(reply, answer=_message_text(message), finish_reason=ending)
    return _with_body(reply, response)


def _says_something(error: object) -> bool:
    """Whether an error is one: some gateways send an empty one with every answer."""
    return any(error.values()) if isinstance(error, dict) else bool(error)


def _message_text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") in _TEXT_PARTS]
        content = "".join(str(part.get("text") or "") for part in parts)
    refusal = message.get("refusal")
    return content if isinstance(content, str) and content else refusal if isinstance(refusal, str) else ""


def _with_body(reply: Reply, response: Any) -> Reply:
    """Return `reply` with its body and the tokens that says it used; failed calls may be billed too."""
    usage = response.get("usage") if isinstance(response, dict) else None
    counts = usage if isinstance(usage, dict) else {}
    prompt, completion, total = (
        _count(counts.get(f"{name}_tokens")) for name in ("prompt", "completion", "total")
    )
    # Some report the tokens of the reasoning, which are billed as answer, in the total alone.
    if prompt is not None and total is not None and total - prompt > (completion or 0):
        completion = total - prompt
    return replace(reply, response=response, prompt_tokens=prompt, completion_tokens=completion)


def _count(value: object) -> int | None:
    """Read a number of tokens; None is what is no such number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_TOKENS:
        return None
    return int(value)


def json_or_text(settings: ModelApiSettings, text: str) -> Any:
    """Return a reply's JSON value, or its text, without secrets, fit for a file."""
    try:
        # Cleaned once it is read: a key may be spelled with escapes.
        return settings.cleaned(json.loads(text.lstrip("\ufeff"), parse_constant=str))
    except (ValueError, RecursionError):
        return settings.redact(text)


def shortened(settings: ModelApiSettings, text: str) -> str:
    """Return the start of a text from outside on one line, without secrets, fit for a message."""
    # Both ends of a huge text are not worth reading, and half a surrogate pair breaks whoever writes it down.
    start = settings.redact(text)[: 4 * _MESSAGE_LENGTH].encode("utf-8", "replace").decode("utf-8")
    line = " ".join("".join(c if c.isprintable() else " " for c in start).split()).rstrip(".")
    return line if len(line) <= _MESSAGE_LENGTH else line[:_MESSAGE_LENGTH] + " ..."


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read how long a server asks to wait: seconds or a date, or the milliseconds some send.

    Examples
    --------
    >>> retry_after_s({"retry-after": "1.5"}), retry_after_s({"retry-after-ms": "250"})
    (1.5, 0.25)
    >>> retry_after_s({"retry-after": "soon"}), retry_after_s({})
    (None, None)
    """
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000.0
    header = headers.get("retry-after")
    seconds = _seconds(header)
    if header is None or seconds is not None:
        return seconds
    try:
        until = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    until = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
    return max((until - datetime.now(UTC)).total_seconds(), 0.0)


def _seconds(header: str | None) -> float | None:
    try:
        value = float(header) if header is not None else math.nan
    except ValueError:
        return None
    return None if math.isnan(value) else max(value, 0.0)
