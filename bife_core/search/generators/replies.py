"""What a chat API sent back: an answer, whole or in chunks, or why there is none, and what it is billed."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import openai

from bife_core.search.generators.account import Call
from bife_core.search.generators.model_settings import ModelApiSettings
from bife_core.search.generators.parsing import printable, without_reasoning

_REFUSED: Final = "refused the key; check BIFE_LLM_API_KEY and BIFE_LLM_HEADERS"
_NO_CREDIT: Final = "says that the account has no credit left"
_NO_CHAT: Final = "is no chat API; check BIFE_LLM_BASE_URL"
LASTING: Final = {
    401: _REFUSED,
    402: _NO_CREDIT,
    403: _REFUSED,
    404: "has no such model or path; check BIFE_LLM_MODEL, BIFE_LLM_BASE_URL and BIFE_LLM_QUERY",
    405: _NO_CHAT,
    **dict.fromkeys((301, 302, 303, 307, 308), _NO_CHAT),
}
"""What HTTP statuses say that no further request would change."""
LATE: Final = (504, 524)
"""What gateways say where no answer came in time: the model behind them may be at work, and is billed."""
BUSY: Final = (429, 503, 529)
LOADS: Final = re.compile(r"(?i)(?!.*(?:fail|unable|error loading)).*\bloading\b")
"""What servers say that take no more requests now, and that are loading a model."""
IN_CONTENT: Final = (
    "For answers in `content`, set generator.reasoning_effort=none (Ollama), start vLLM with the --reasoning-parser of "
    "the model or none, llama.cpp with --reasoning-format none, or turn off 'separate reasoning_content' in LM Studio."
)
_THOUGHT_ONLY: Final = (
    "used up the room of its answer by thinking, before any text; raise generator.max_completion_tokens, or lower "
    "generator.reasoning_effort."
)
_REASONING: Final = ("reasoning_content", "reasoning", "thinking")
_BROKEN: Final = "error"  # how an answer ends that is not whole; OpenRouter's name for it
_SHOWN: Final = 300
_MOST_TOKENS: Final = 10**9


def failure_of(settings: ModelApiSettings, error: openai.OpenAIError) -> tuple[dict[str, Any], bool]:
    """Return what a call has of an exception, and whether no further request can succeed either."""
    lasting, outcome = False, dict[str, Any](status="error")
    if isinstance(error, openai.APIStatusError):
        what = _NO_CREDIT if error.code == "insufficient_quota" else LASTING.get(error.status_code)
        lasting = what is not None
        reason = f"{what or 'answered'} (HTTP {error.status_code}: {said_by(error)})"
        if not lasting and error.status_code in BUSY:
            reason += "; raise BIFE_LLM_TRIES to ask it more often, or lower BIFE_LLM_CONCURRENCY"
        outcome |= {"http_status": error.status_code, "response": settings.cleaned(error.response.text)}
        outcome |= {"tokens_estimated": error.status_code in LATE}
    elif isinstance(error, openai.APITimeoutError):
        reason = f"gave no whole answer within BIFE_LLM_TIMEOUT_S, {settings.timeout_s:g} s"
    else:
        cause = error.__cause__ or error
        reason = (
            f"cannot be reached, or sent no whole answer ({_shortened(str(cause) or type(cause).__name__)})"
        )
    if isinstance(error, openai.APIConnectionError):
        # Where no connection was made, nothing was billed.
        lost = type(error.__cause__).__name__ not in ("ConnectError", "ConnectTimeout")
        outcome |= {"tokens_estimated": lost, "response": error.body and settings.cleaned(str(error.body))}
    return outcome | {"error": settings.redact(f"{settings.base_url} {reason}.")}, lasting


def wait_of(error: openai.OpenAIError) -> float:
    """Return for how many seconds a server asks to wait, in its header Retry-After, as a number or a date."""
    wait = error.response.headers.get("retry-after", "") if isinstance(error, openai.APIStatusError) else ""
    with suppress(ValueError):
        return float(wait)
    with suppress(ValueError, TypeError):
        return (parsedate_to_datetime(wait) - datetime.now(UTC)).total_seconds()
    return 0.0


def status_of(status: int, body: bytes) -> int:
    """Return the status of a reply; of one that is good but holds an error alone, that of the error."""
    with suppress(ValueError, RecursionError, AttributeError):
        reply = json.loads(body) if status == 200 else {}
        if reply.get("error") and not reply.get("choices"):
            code = str(reply["error"].get("code")) if isinstance(reply["error"], dict) else ""
            if re.fullmatch("[45][0-9][0-9]", code):
                return int(code)
            return 404 if b"Unexpected endpoint" in body else 500
    return status


def said_by(error: Any) -> str:
    """Return what a server says of an error."""
    message = error.body.get("message") if isinstance(error.body, dict) else error.body
    return _shortened(message or error.response.text) or "no reason given"


def completion_of(settings: ModelApiSettings, status: int, text: str) -> dict[str, Any]:
    """Return what a call has of a reply of a good status, whose text need not be a chat completion."""
    reply = settings.cleaned(_joined(text))
    outcome = {"http_status": status, "response": reply}
    try:
        choice, trouble = reply["choices"][0], reply.get("error")
        end, message = choice.get("finish_reason"), choice["message"]
        end = "length" if re.search("(?i)max.*token", str(end)) else end
        content = message.get("content") or message.get("refusal") or ""
        answer = "".join(map(_text, content if isinstance(content, list) else [content]))
        answer += "".join(map(_arguments, message.get("tool_calls") or [message.get("function_call")]))
        for field in _REASONING if end != "length" and not without_reasoning(answer).strip() else ():
            if "def " in (thought := message.get(field) or ""):
                answer, outcome = thought, outcome | {"answered_in": field}
    except (KeyError, IndexError, TypeError, AttributeError):
        sent = _shortened(settings.redact(text)) or "nothing"
        reason = f"sent no chat completion but {sent}; check BIFE_LLM_BASE_URL if that persists."
    else:
        outcome |= {"answer": answer, "finish_reason": None if end is None else str(end)}
        if end == "length" and not without_reasoning(answer).strip():
            reason = _THOUGHT_ONLY
        elif trouble or end == _BROKEN:
            trouble = trouble.get("message") if isinstance(trouble, dict) else trouble
            reason = f"broke its answer off ({_shortened(trouble or 'it has no end')})."
        else:
            return outcome | {"status": "ok"}
    return outcome | {"status": "error", "error": f"{settings.base_url} {reason}"}


def _text(part: Any) -> str:
    """Return the text in a part of a message; reasoning is none."""
    if isinstance(part, str):
        return part
    return str(part.get("text") or "") if part.get("type", "text") in ("text", "output_text") else ""


def _arguments(called: Any) -> str:
    """Return what a model calls a tool with."""
    arguments = (called or {}).get("function", called or {}).get("arguments") or ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _joined(text: str) -> str:
    """Return a reply that a server sent in chunks as one chat completion, and another as it is."""
    lines = [line[5:].strip() for line in text.split("\n") if line.startswith("data:")]
    reply, message, end = dict[str, Any](), dict[str, str](), _BROKEN
    try:
        for line in filter(None, lines):
            if line == "[DONE]":
                end = "stop" if end == _BROKEN else end
                continue
            chunk = json.loads(line)
            reply |= {name: value for name, value in chunk.items() if value}
            for choice in chunk.get("choices") or ():
                end = choice.get("finish_reason") or end
                for name, part in (choice.get("delta") or {}).items():
                    message[name] = message.get(name, "") + (part if isinstance(part, str) else "")
    except (ValueError, TypeError, AttributeError, RecursionError):
        return text
    return json.dumps(reply | {"choices": [{"message": message, "finish_reason": end}]}) if lines else text


def _shortened(text: object) -> str:
    """Return the start of a text from outside on one line, fit for a message."""
    line = printable(str(text)[: 4 * _SHOWN]).rstrip(".")
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} ..."


def bill_of(settings: ModelApiSettings, call: Call) -> dict[str, Any]:
    """Return tokens and price of a finished call, good or not; tokens not reported are guessed and marked."""
    reply = call.response if isinstance(call.response, dict) else {}
    usage = reply.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    prompt, completion, total = (
        _count(counts.get(f"{name}_tokens", counts.get(f"{other}_tokens")))
        for name, other in (("prompt", "input"), ("completion", "output"), ("total", ""))
    )
    # Some report the tokens of the reasoning, which are billed as answer, in the total alone.
    if prompt is not None and total is not None:
        completion = max(completion or 0, total - prompt)
    written = _written(reply)
    missing = not prompt or completion is None or (written and not completion)
    billed = bool(usage) or (bool(reply) and call.http_status is not None and call.http_status < 300)
    estimated = call.tokens_estimated or bool(missing and billed)
    if estimated:
        prompt = prompt or _guessed("".join(message.content for message in call.messages))
        completion = completion or _guessed(written)
    prompt, completion = prompt or 0, completion or 0
    # OpenAI's name for it, and DeepSeek's.
    details = counts.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens") if isinstance(details, dict) else None)
    cached = min(cached or _count(counts.get("prompt_cache_hit_tokens")) or 0, prompt)
    bill = {"prompt_tokens": prompt, "cached_tokens": cached, "completion_tokens": completion}
    bill |= {"tokens_estimated": estimated}
    return bill | {"cost_usd": settings.cost_usd(call.model_copy(update=bill))}


def _written(reply: dict[str, Any]) -> str:
    """Return all that a model wrote, its reasoning included."""
    try:
        message = reply["choices"][0]["message"]
        return "".join(str(message.get(name) or "") for name in ("content", *_REASONING))
    except (KeyError, IndexError, TypeError, AttributeError):
        return ""


def cut_prompt(call: Call) -> str:
    """Return what to say of a prompt that has far fewer tokens by the server's count than it must, or nothing."""
    size, tokens = sum(len(message.content.encode()) for message in call.messages), call.prompt_tokens
    # Ollama cuts to its context, or to half of it and 2.
    if call.status != "ok" or (tokens >= size / 6 and (tokens >= size / 4 or tokens % 1024 not in (0, 2))):
        return ""
    return (
        f"counts {tokens:,} tokens of a prompt of about {math.ceil(size / 4):,}: it cuts what exceeds its context. "
        "Raise that to 16384 (num_ctx or OLLAMA_CONTEXT_LENGTH in Ollama, the context length in LM Studio)."
    )


def _count(value: object) -> int | None:
    """Return a number of tokens, which some send as 12.0 or as text; None for what can be none."""
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            number = float(value)
            return int(number) if 0 <= number < _MOST_TOKENS and number.is_integer() else None
    return None


def _guessed(text: str) -> int:
    """Guess how many tokens a text has; four bytes a token is the common rule of thumb for English and code."""
    return math.ceil(len(text.encode("utf-8", "replace")) / 4)
