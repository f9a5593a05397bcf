"""One call to an OpenAI-compatible chat API, and what its outcome means for the run."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import openai

from bife_core.errors import GeneratorError
from bife_core.generators.base import Message
from bife_core.generators.model_settings import ModelApiSettings
from bife_core.generators.wire import Received, ReplyTooLongError, call_within

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

_MESSAGE_LENGTH: Final = 300
_MOST_TOKENS: Final = 10**9
_STOPPING_CODES: Final = ("insufficient_quota", "model_not_found")
# Some servers report an unknown model as a bad request, each in its own words.
_NO_SUCH_MODEL: Final = re.compile(
    r"(unknown|invalid|unsupported|no such) model"
    r"|model[^.]{0,80}\bnot (exist|found|supported|available)"
    r"|supported (api )?model names",
    re.IGNORECASE,
)

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
    retry_after_s : float or None
        Seconds the server asked to wait.
    prompt_tokens, completion_tokens : int or None
        Tokens the server reported; None where it did not.
    """

    outcome: ReplyOutcome
    problem: str | None = None
    http_status: int | None = None
    retry_after_s: float | None = None
    unreachable: bool = False
    answer: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    response: Any = None


def ask(settings: ModelApiSettings, messages: tuple[Message, ...], request_id: str | None = None) -> Reply:
    """Send `messages` once and wait `settings.timeout_s` at most.

    Parameters
    ----------
    request_id : str, optional
        Name of the call, sent along so that it can be found in the provider's records.

    Returns
    -------
    Reply
        Failures of the network, the server or the account are replies too; nothing of the kind is raised. What
        arrived of a reply that broke off is kept in it.
    """
    _, model = settings.require_complete()
    chat = [{"role": message.role, "content": message.content} for message in messages]
    received = Received()

    async def post() -> int:
        async with settings.client(received) as client:
            raw = await client.chat.completions.with_raw_response.create(
                model=model,
                messages=cast("list[ChatCompletionMessageParam]", chat),
                temperature=openai.omit if settings.temperature is None else settings.temperature,
                extra_headers={"X-Client-Request-Id": request_id} if request_id else None,
            )
            return raw.status_code

    try:
        status = call_within(settings.timeout_s, post)
    except ReplyTooLongError as error:
        problem = f"{settings.address} sent a reply of {error}; no rule needs them."
        return Reply("fail", problem, http_status=received.status)
    except (TimeoutError, openai.APIError) as error:
        return judge_error(settings, error, settings.timeout_s, received)
    return read_completion(settings, status, received.text)


def probe(settings: ModelApiSettings, *, limit_s: float = 10.0) -> str:
    """Return a sentence on whether the API answers and offers the model, without paying for an answer.

    Raises
    ------
    GeneratorError
        If the API cannot be reached or refuses the key.
    """
    _, model = settings.require_complete()

    async def listing() -> list[str]:
        async with settings.client() as client:
            page = await client.models.list()
            return [item.id for item in page.data or []]

    try:
        names = call_within(limit_s, listing)
    except openai.NotFoundError:
        return f"{settings.address} answers, but does not list its models."
    except (TimeoutError, openai.APIError) as error:
        raise GeneratorError(judge_error(settings, error, limit_s).problem or str(error)) from error
    if model in names:
        return f"{settings.address} answers and offers {model}."
    offered = ", ".join(names[:8]) or "no models"
    return f"{settings.address} answers, but {model} is not among what it lists ({offered})."


def judge_error(
    settings: ModelApiSettings,
    error: TimeoutError | openai.APIError,
    limit_s: float,
    received: Received | None = None,
) -> Reply:
    """Say what an exception of the openai package means for this call and for the run."""
    if isinstance(error, openai.APIStatusError):
        return _judge_status(settings, error)
    reply = _judge_connection(settings, error, limit_s)
    if received is None or not received.body:
        return reply
    response = _json_or_text(settings, received.text)
    return _with_body(replace(reply, http_status=received.status), response)


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
        detail = _brief(settings, str(causes[-1]) or type(causes[-1]).__name__)
        what = "Nothing could be reached at" if refused else "The connection broke off to"
        return Reply("retry", f"{what} {settings.address} ({detail}).", unreachable=refused)
    return Reply(
        "retry", f"{settings.address} sent a reply that cannot be read ({_brief(settings, str(error))})."
    )


def _judge_status(settings: ModelApiSettings, error: openai.APIStatusError) -> Reply:
    status = error.status_code
    said = _brief(settings, _error_text(error)) or "without a reason"
    location = error.response.headers.get("location")
    if 300 <= status < 400:
        where = f" to {_brief(settings, location.partition('?')[0])}" if location else ""
        problem = f"{settings.address} has moved{where} (HTTP {status}): check BIFE_LLM_BASE_URL."
        return Reply("stop", problem, http_status=status)
    outcome, problem = _judge_code(settings, status, error.code, said)
    response = _json_or_text(settings, error.response.text)
    reply = Reply(outcome, problem, http_status=status, retry_after_s=retry_after_s(error.response.headers))
    return _with_body(reply, response)


def _judge_code(
    settings: ModelApiSettings, status: int, code: str | None, said: str
) -> tuple[ReplyOutcome, str]:
    """Return what an HTTP status means, and the sentence that says so."""
    where = settings.address
    if status == 402 or code == "insufficient_quota":
        return "stop", f"The account at {where} has no credit left (HTTP {status}: {said})."
    if status in (401, 403, 407):
        action = "check BIFE_LLM_API_KEY" if settings.api_key is not None else "set BIFE_LLM_API_KEY"
        return "stop", f"{where} refused the key (HTTP {status}: {said}): {action}."
    if status in (404, 410) or code == "model_not_found" or (status == 400 and _NO_SUCH_MODEL.search(said)):
        problem = (
            f"There is no model {settings.model!r} at {where} (HTTP {status}: {said}); "
            "check BIFE_LLM_MODEL and BIFE_LLM_BASE_URL."
        )
        return "stop", problem
    if status in (405, 501):
        return "stop", f"{where} is no chat API (HTTP {status}: {said}): check BIFE_LLM_BASE_URL."
    if status in (408, 409, 425, 429) or status >= 500:
        return "retry", f"{where} answered HTTP {status}: {said}."
    return "fail", f"{where} did not accept the request (HTTP {status}: {said})."


def read_completion(settings: ModelApiSettings, status: int, text: str) -> Reply:
    """Take answer, reason of the end and token counts from the text of a reply with a good status."""
    response = _json_or_text(settings, text)
    body = response if isinstance(response, dict) else {}
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    message = first.get("message") if first is not None else None
    if first is None or not isinstance(message, dict):
        return _no_completion(settings, status, response, text)
    reason = first.get("finish_reason")
    reply = Reply(
        "ok",
        http_status=status,
        answer=_message_text(message),
        finish_reason=reason if isinstance(reason, str) else None,
    )
    return _with_body(reply, response)


def _no_completion(settings: ModelApiSettings, status: int, response: Any, text: str) -> Reply:
    """Judge a reply of a good status without a completion; gateways hide their errors in such."""
    error = response.get("error") if isinstance(response, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(error, dict) and ((isinstance(code, int) and 400 <= code < 600) or code in _STOPPING_CODES):
        said = _brief(settings, str(error.get("message") or code))
        meant = code if isinstance(code, int) else status
        outcome, problem = _judge_code(settings, meant, code if isinstance(code, str) else None, said)
        return _with_body(Reply(outcome, problem, http_status=status), response)
    found = _brief(settings, text) or "an empty body"
    problem = (
        f"{settings.address} was expected to send a chat completion and sent something else ({found}); "
        "if that persists, check BIFE_LLM_BASE_URL."
    )
    return _with_body(Reply("retry", problem, http_status=status), response)


def _message_text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    refusal = message.get("refusal")
    return content if isinstance(content, str) and content else refusal if isinstance(refusal, str) else ""


def _with_body(reply: Reply, response: Any) -> Reply:
    """Return `reply` with its body and the tokens that says it used; failed calls may be billed too."""
    usage = response.get("usage") if isinstance(response, dict) else None
    counts = usage if isinstance(usage, dict) else {}
    return replace(
        reply,
        response=response,
        prompt_tokens=_count(counts.get("prompt_tokens")),
        completion_tokens=_count(counts.get("completion_tokens")),
    )


def _count(value: object) -> int | None:
    """Read a number of tokens; None is what is no such number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_TOKENS:
        return None
    return int(value)


def _json_or_text(settings: ModelApiSettings, text: str) -> Any:
    """Return a reply's JSON value, or its text, without secrets, fit for a file."""
    try:
        # Cleaned once it is read: a key may be spelled with escapes.
        return settings.cleaned(json.loads(text.lstrip("\ufeff"), parse_constant=str))
    except (ValueError, RecursionError):
        return settings.redact(text)


def _brief(settings: ModelApiSettings, text: str) -> str:
    # Both ends of a huge text are not worth reading, and half a surrogate pair breaks whoever writes it down.
    start = settings.redact(text)[: 4 * _MESSAGE_LENGTH].encode("utf-8", "replace").decode("utf-8")
    line = " ".join("".join(c if c.isprintable() else " " for c in start).split()).rstrip(".")
    return line if len(line) <= _MESSAGE_LENGTH else line[:_MESSAGE_LENGTH] + " ..."


def _error_text(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return str(body["message"])
    return body if isinstance(body, str) and body else str(error.message)


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
