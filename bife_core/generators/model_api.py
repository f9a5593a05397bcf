"""One call to an OpenAI-compatible chat API, and what its outcome means for the run."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import openai

from bife_core.errors import GeneratorError
from bife_core.generators.base import Message
from bife_core.generators.deadline import call_within
from bife_core.generators.model_settings import ModelApiSettings

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

_MESSAGE_LENGTH: Final = 300
# Some servers report an unknown model as a bad request, each in its own words.
_NO_SUCH_MODEL: Final = re.compile(
    r"(unknown|invalid|unsupported|no such) model"
    r"|model[^.]{0,80}\bnot (exist|found|supported|available)"
    r"|supported (api )?model names",
    re.IGNORECASE,
)

Verdict = Literal["ok", "retry", "fail", "stop"]


@dataclass(frozen=True, slots=True)
class Reply:
    """Outcome of one call.

    Attributes
    ----------
    verdict : str
        "ok": there is an answer. "retry": the same call may succeed later. "fail": this prompt will not
        succeed. "stop": no call will succeed until a person changes something.
    problem : str or None
        What went wrong, as a sentence; None for "ok".
    unreachable : bool
        Whether no connection was made at all.
    retry_after_s : float or None
        Seconds the server asked to wait.
    """

    verdict: Verdict
    problem: str | None = None
    http_status: int | None = None
    retry_after_s: float | None = None
    unreachable: bool = False
    answer: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    response: Any = None


def ask(settings: ModelApiSettings, messages: tuple[Message, ...]) -> Reply:
    """Send `messages` once and wait `settings.timeout_s` at most.

    Returns
    -------
    Reply
        Failures of the network, the server or the account are replies too; nothing of the kind is raised.
    """
    _, model = settings.require_complete()

    chat = [{"role": message.role, "content": message.content} for message in messages]

    async def post() -> tuple[int, str]:
        async with settings.client() as client:
            raw = await client.chat.completions.with_raw_response.create(
                model=model,
                messages=cast("list[ChatCompletionMessageParam]", chat),
                temperature=openai.omit if settings.temperature is None else settings.temperature,
            )
            return raw.status_code, raw.text

    try:
        status, text = call_within(settings.timeout_s, post)
    except (TimeoutError, openai.APIError) as error:
        return judge_error(settings, error, settings.timeout_s)
    return read_completion(settings, status, text)


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


def judge_error(settings: ModelApiSettings, error: TimeoutError | openai.APIError, limit_s: float) -> Reply:
    """Say what an exception of the openai package means for this call and for the run."""
    if isinstance(error, openai.APIStatusError):
        return _judge_status(settings, error)
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Reply("retry", f"{settings.address} gave no complete answer within {limit_s:g} s.")
    if isinstance(error, openai.APIConnectionError):
        causes = _causes(error)
        # The openai package rides on httpx or httpx2, depending on its version; both have this name.
        refused = any(type(cause).__name__ == "ConnectError" for cause in causes)
        detail = _brief(settings, str(causes[-1]) or type(causes[-1]).__name__)
        what = "Nothing could be reached at" if refused else "The connection broke off to"
        return Reply("retry", f"{what} {settings.address} ({detail}).", unreachable=refused)
    return Reply(
        "retry", f"{settings.address} sent a reply that cannot be read ({_brief(settings, str(error))})."
    )


def _judge_status(settings: ModelApiSettings, error: openai.APIStatusError) -> Reply:
    status = error.status_code
    said = _brief(settings, _error_text(error))
    where = settings.address
    verdict: Verdict
    if status in (401, 403):
        action = "check BIFE_LLM_API_KEY" if settings.api_key is not None else "set BIFE_LLM_API_KEY"
        verdict, problem = "stop", f"{where} refused the key (HTTP {status}): {action}."
    elif status == 402 or error.code == "insufficient_quota":
        verdict, problem = "stop", f"The account at {where} has no credit left (HTTP {status}: {said})."
    elif status == 404 or error.code == "model_not_found" or (status == 400 and _NO_SUCH_MODEL.search(said)):
        verdict = "stop"
        problem = (
            f"There is no model {settings.model!r} at {where} (HTTP {status}: {said}); "
            "check BIFE_LLM_MODEL and BIFE_LLM_BASE_URL."
        )
    elif status in (408, 409, 425, 429) or status >= 500:
        verdict, problem = "retry", f"{where} answered HTTP {status}: {said}."
    else:
        verdict, problem = "fail", f"{where} did not accept the request (HTTP {status}: {said})."
    return Reply(
        verdict,
        problem,
        http_status=status,
        retry_after_s=_retry_after_s(error.response.headers.get("retry-after")),
        response=_json_or_text(settings.redact(error.response.text)),
    )


def read_completion(settings: ModelApiSettings, status: int, text: str) -> Reply:
    """Take answer, reason of the end and token counts from the text of a reply with a good status."""
    response = _json_or_text(settings.redact(text))
    body = response if isinstance(response, dict) else {}
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    message = first.get("message") if first is not None else None
    if first is None or not isinstance(message, dict):
        found = _brief(settings, text) or "an empty body"
        problem = (
            f"{settings.address} was expected to send a chat completion and sent something else ({found}); "
            "if that persists, check BIFE_LLM_BASE_URL."
        )
        return Reply("retry", problem, http_status=status, response=response)
    usage = body.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    reason = first.get("finish_reason")
    return Reply(
        "ok",
        http_status=status,
        answer=_message_text(message).encode("utf-8", "replace").decode("utf-8"),
        finish_reason=reason if isinstance(reason, str) else None,
        prompt_tokens=_count(counts.get("prompt_tokens")),
        completion_tokens=_count(counts.get("completion_tokens")),
        response=response,
    )


def _message_text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    refusal = message.get("refusal")
    return content if isinstance(content, str) and content else refusal if isinstance(refusal, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _brief(settings: ModelApiSettings, text: str) -> str:
    line = " ".join(settings.redact(text).split()).rstrip(".")
    return line if len(line) <= _MESSAGE_LENGTH else line[:_MESSAGE_LENGTH] + " ..."


def _error_text(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return str(body["message"])
    return body if isinstance(body, str) and body else str(error.message)


def _causes(error: BaseException) -> list[BaseException]:
    chain = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    return chain


def _retry_after_s(header: str | None) -> float | None:
    """Read a Retry-After header, which holds seconds or a date."""
    if header is None:
        return None
    try:
        return max(float(header), 0.0)
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(header)
    except ValueError:
        return None
    until = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
    return max((until - datetime.now(UTC)).total_seconds(), 0.0)
