"""Rules written by a language model behind any OpenAI-compatible API."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

import openai

from bife_core.errors import ConfigError
from bife_core.generators.account import Account, BudgetReachedError, Call
from bife_core.generators.bandit import choose_model
from bife_core.generators.base import Draft, DraftingStoppedError, Message, NoDraftError, PromptContext
from bife_core.generators.config import GeneratorConfig, Prompts
from bife_core.generators.model_settings import ModelApiSettings
from bife_core.generators.parsing import read_answer
from bife_core.generators.prompting import assemble, assemble_repair, prompt_digest, prompt_version
from bife_core.search.types import WrittenRequest

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

_REFUSED: Final = "refused the key; check BIFE_LLM_API_KEY"
_NO_CREDIT: Final = "says that the account has no credit left"
_NO_CHAT: Final = "is no chat API; check BIFE_LLM_BASE_URL"
_LASTING: Final = {
    401: _REFUSED,
    402: _NO_CREDIT,
    403: _REFUSED,
    404: "has no such model or path; check BIFE_LLM_MODEL and BIFE_LLM_BASE_URL",
    405: _NO_CHAT,
    **dict.fromkeys((301, 302, 303, 307, 308), _NO_CHAT),
}
"""What HTTP statuses say that no further request would change."""
_NOT_ACCEPTED: Final = frozenset(range(400, 500)) - {408, 409, 429}
_SHOWN: Final = 300
_MOST_BYTES: Final = 8 * 2**20


class OpenAIGenerator:
    """Asks a chat API for each rule; calls are recorded on `account` and recorded answers are not paid again.

    The OpenAI client repeats requests that failed. Threads may share a generator. The first request goes out alone, so
    that a wrong key costs one request and not as many as there are threads; after an outcome that stops the run no
    other goes out. A ConfigError says that money is limited and a price is missing.
    """

    name = "openai"

    def __init__(
        self, settings: ModelApiSettings, account: Account, *, prompts: Prompts = "informed"
    ) -> None:
        _, self.models = settings.require_complete()
        if account.budget.usd is not None and not (settings.price_in and settings.price_out):
            raise ConfigError(
                "usd needs the prices of the model, in US dollars per million tokens: set "
                "BIFE_LLM_PRICE_IN and BIFE_LLM_PRICE_OUT (0 for a model of your own)."
            )
        self.settings = settings
        self.account = account
        self.prompts: Prompts = prompts
        self.needs_context = prompts == "informed" or len(self.models) > 1
        self._client = _client(settings)
        self._gate = Lock()
        self._opened = False
        self._stopped: str | None = None

    def generate(self, request: WrittenRequest, context: PromptContext) -> Draft:
        """Write one rule; recorded answers are given even where the budget is used up."""
        calls = self.account.calls() if len(self.models) > 1 else ()
        model = choose_model(self.models, request, context.earlier, calls)
        return self._answer(request, assemble(request, context, self.prompts), model)

    def repair(
        self, request: WrittenRequest, context: PromptContext, rejected: Draft, reason: str
    ) -> Draft | None:
        """Write the rule once more, given why the first answer is none."""
        messages = assemble_repair(rejected, reason)
        return None if messages is None else self._answer(request, messages, rejected.model)

    def _answer(self, request: WrittenRequest, messages: tuple[Message, ...], model: str) -> Draft:
        digest = prompt_digest(messages)
        temperature = self.settings.temperature
        recorded = self.account.answer(request.id, digest, model=model, temperature=temperature)
        if recorded is not None:
            return read_answer(request, self.name, recorded, recorded=True)
        call = Call(
            generator=self.name,
            key=request.id,
            kind=request.kind,
            operator=request.operator,
            generation=request.generation,
            parents=tuple(parent.id for parent in request.parents),
            model=model,
            base_url=self.settings.base_url or "",
            temperature=temperature,
            prompt_digest=digest,
            prompt_version=prompt_version(),
            messages=messages,
            started_unix_s=0.0,
            status="sent",
        )
        draft = Draft(key=request.id, generator=self.name, model=model, messages=messages)
        try:
            call = self._call_alone(call)
        except BudgetReachedError as error:
            raise BudgetReachedError(str(error), draft.model_copy(update={"failure": str(error)})) from error
        if call.status == "ok":
            return read_answer(request, self.name, call)
        found = {
            "attempts": () if call.error is None else (call.attempt(recorded=False),),
            "failure": call.error or self._stopped,
            "unanswered": "refused" if call.http_status in _NOT_ACCEPTED else "outage",
        }
        draft = draft.model_copy(update=found)
        if self._stopped is not None:
            raise DraftingStoppedError(str(draft.failure), draft)
        return draft

    def _call_alone(self, call: Call) -> Call:
        """Make a call, the first one before all others; after one that stops the run it is returned as it was."""
        with self._gate:
            if not self._opened:
                try:
                    return self._call(call)
                finally:
                    self._opened = True
        return call if self._stopped is not None else self._call(call)

    def _call(self, call: Call) -> Call:
        """Make one call: stored before it goes out, and with its answer before that is read."""
        call = self.account.begin(call, self.settings.cost_usd)
        began_s = time.perf_counter()
        try:
            with self._client.chat.completions.with_streaming_response.create(
                model=call.model,
                messages=cast("list[ChatCompletionMessageParam]", [m.model_dump() for m in call.messages]),
                temperature=openai.omit if call.temperature is None else call.temperature,
                extra_headers={"X-Client-Request-Id": f"bife-{quote(call.key, safe='')}.{call.number}"},
            ) as reply:
                text = _whole_text(reply, self.settings.timeout_s)
                found = _completion(self.settings, reply.status_code, text)
        except openai.OpenAIError as error:
            found, lasting = _failure(self.settings, error)
            self._stopped = self._stopped or (found["error"] if lasting else None)
        call = call.model_copy(update=found | {"seconds": time.perf_counter() - began_s})
        call = call.model_copy(update=_bill(self.settings, call))
        self.account.finish(call)
        return call


def _client(settings: ModelApiSettings, *, timeout_s: float | None = None) -> openai.OpenAI:
    """Return a client that follows no redirect: it would take the prompt to another host than the configured one."""
    base_url, _ = settings.require_complete()
    return openai.OpenAI(
        base_url=base_url,
        api_key=settings.api_key.get_secret_value() if settings.api_key is not None else "not-needed",
        timeout=timeout_s or settings.timeout_s,
        max_retries=settings.tries - 1 if timeout_s is None else 0,
        http_client=openai.DefaultHttpxClient(follow_redirects=False),
    )


def offered(settings: ModelApiSettings) -> list[str]:
    """Return the names of the models the API lists, or none where it lists none; asking costs nothing.

    A DraftingStoppedError says that the key is refused or nothing answers, a NoDraftError that an error may pass.
    """
    try:
        listed = _client(settings, timeout_s=10.0).models.list()
        return [settings.redact(str(model.id)) for model in listed.data]
    except (openai.NotFoundError, TypeError, AttributeError):  # no list, or none of OpenAI's form
        return []
    except openai.OpenAIError as error:
        found, lasting = _failure(settings, error)
        stops = lasting or isinstance(error, openai.APIConnectionError)
        raise (DraftingStoppedError if stops else NoDraftError)(found["error"]) from error


def _whole_text(reply: openai.APIResponse[Any], limit_s: float) -> str:
    """Return the text of a reply that comes within a limit of time, whatever a server sends to keep a call alive."""
    until_s, parts, left = time.monotonic() + limit_s, list[bytes](), _MOST_BYTES
    try:
        for part in reply.iter_bytes():
            parts.append(part)
            left -= len(part)
            if left < 0 or time.monotonic() > until_s:
                raise TimeoutError
    except Exception as error:
        late = isinstance(error, TimeoutError) or "Timeout" in type(error).__name__
        failure = openai.APITimeoutError if late else openai.APIConnectionError
        raise failure(request=reply.http_request) from error
    return b"".join(parts).decode("utf-8", "replace")


def _failure(settings: ModelApiSettings, error: openai.OpenAIError) -> tuple[dict[str, Any], bool]:
    """Return what a call has of an exception, and whether no further request can succeed either."""
    where, lasting = settings.base_url, False
    found: dict[str, Any] = {"status": "error"}
    if isinstance(error, openai.APIStatusError):
        said = error.body.get("message") if isinstance(error.body, dict) else None
        what = _NO_CREDIT if error.code == "insufficient_quota" else _LASTING.get(error.status_code)
        lasting = what is not None
        reason = f"{what or 'answered'} (HTTP {error.status_code}: {_shortened(said or error.message)})"
        found |= {"http_status": error.status_code, "response": settings.cleaned(error.response.text)}
    elif isinstance(error, openai.APITimeoutError):
        reason = f"gave no answer within {settings.timeout_s:g} s"
    else:
        cause = error.__cause__ or error
        reason = f"cannot be reached, or sent no answer ({_shortened(str(cause) or type(cause).__name__)})"
    # Where no connection was made, nothing was billed.
    sent = type(error.__cause__).__name__ not in ("ConnectError", "ConnectTimeout")
    lost = isinstance(error, openai.APIConnectionError) and sent
    return found | {"error": settings.redact(f"{where} {reason}."), "tokens_estimated": lost}, lasting


def _completion(settings: ModelApiSettings, status: int, text: str) -> dict[str, Any]:
    """Return what a call has of a reply of a good status, whose text need not be a chat completion."""
    found = {"http_status": status, "response": settings.cleaned(text)}
    try:
        choice = found["response"]["choices"][0]
        content = choice["message"].get("content") or choice["message"].get("refusal") or ""
        if isinstance(content, list):
            content = "".join(part.get("text") or "" for part in content)
        return found | {"status": "ok", "answer": content, "finish_reason": choice.get("finish_reason")}
    except (KeyError, IndexError, TypeError, AttributeError):
        said = _shortened(settings.redact(text)) or "nothing"
        error = f"{settings.base_url} sent no chat completion but {said}; check BIFE_LLM_BASE_URL if that persists."
        return found | {"status": "error", "error": error}


def _shortened(text: object) -> str:
    """Return the start of a text from outside on one line, fit for a message."""
    start = "".join(c if c.isprintable() else " " for c in str(text)[: 4 * _SHOWN])
    line = " ".join(start.split()).rstrip(".")
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} ..."


def _bill(settings: ModelApiSettings, call: Call) -> dict[str, Any]:
    """Return tokens and price of a finished call; failed ones may be billed too."""
    usage = call.response.get("usage") if isinstance(call.response, dict) else None
    counts = usage if isinstance(usage, dict) else {}
    prompt, completion, total = (
        _count(counts.get(f"{name}_tokens")) for name in ("prompt", "completion", "total")
    )
    # Some report the tokens of the reasoning, which are billed as answer, in the total alone.
    if prompt is not None and total is not None:
        completion = max(completion or 0, total - prompt)
    estimated = call.tokens_estimated or (call.status == "ok" and None in (prompt, completion))
    if estimated:
        prompt = prompt or _guessed("".join(message.content for message in call.messages))
        completion = completion or _guessed(call.answer or "")
    prompt, completion = prompt or 0, completion or 0
    # OpenAI's name for it, and DeepSeek's.
    details = counts.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens") if isinstance(details, dict) else None)
    cached = min(cached or _count(counts.get("prompt_cache_hit_tokens")) or 0, prompt)
    found = {"prompt_tokens": prompt, "cached_tokens": cached, "completion_tokens": completion}
    found |= {"tokens_estimated": estimated}
    return found | {"cost_usd": settings.cost_usd(call.model, call.model_copy(update=found))}


def _count(value: object) -> int | None:
    """Return a number of tokens, which some send as 12.0 or as text; None if it is none."""
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(ValueError):
            number = float(value)
            return int(number) if number >= 0 and number.is_integer() else None
    return None


def _guessed(text: str) -> int:
    """Guess how many tokens a text has; four bytes a token is the common rule of thumb for English and code."""
    return math.ceil(len(text.encode("utf-8", "replace")) / 4)


def configured(config: GeneratorConfig, account: Account) -> OpenAIGenerator:
    """Return the generator for the API the environment names, with model and temperature of `config`."""
    settings = ModelApiSettings.from_environment()
    chosen = {"model": config.model or settings.model, "temperature": config.temperature}
    return OpenAIGenerator(settings.model_copy(update=chosen), account, prompts=config.prompts)
