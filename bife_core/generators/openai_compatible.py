"""Rules written by a language model behind any OpenAI-compatible API."""

from __future__ import annotations

import math
import time
from threading import Lock
from typing import Final
from urllib.parse import quote

import numpy as np

from bife_core.errors import ConfigError
from bife_core.generators.account import Account, BudgetReachedError
from bife_core.generators.base import Attempt, Draft, DraftingStoppedError, Message
from bife_core.generators.calls import Call
from bife_core.generators.config import GeneratorConfig, Prompts
from bife_core.generators.judging import Reply
from bife_core.generators.model_api import ask
from bife_core.generators.model_settings import ModelApiSettings
from bife_core.generators.parsing import parse_answer, parse_reflection
from bife_core.generators.prompt_context import PromptContext
from bife_core.generators.prompting import (
    assemble,
    assemble_repair,
    prompt_digest,
    prompt_version,
)
from bife_core.search.types import ReflectionRequest, WrittenRequest

_LENGTH: Final = "length"
_WITHHELD: Final = "content_filter"
_ENDED: Final = frozenset(
    {
        "stop",
        "stop_sequence",
        "eos",
        "eos_token",
        "end_turn",
        "complete",
        "tool_calls",
        "function_call",
        _WITHHELD,
    }
)
"""Words for the end of an answer that was not cut off."""
_BYTES_PER_TOKEN: Final = 4
_MOST_DOUBLINGS: Final = 16
_LEAST_WAIT_S: Final = 1.0
_UNREACHABLE_TRIES: Final = 3


class OpenAIGenerator:
    """Asks a chat API for each rule; calls are recorded on `account` and recorded answers are not paid again.

    Threads may share it. The first call goes out alone: what is wrong with the address, the key or the model is
    found out by one call and not by as many as there are threads. After an outcome that stops the run no other
    call goes out.

    Parameters
    ----------
    settings : ModelApiSettings
        Address, model, key, limits and prices.
    account : Account
        Where every call is written before it goes out and before its answer is read, and what may be spent.
    prompts : {"informed", "paper"}
        How much a prompt tells.
    backoff_s : float
        Mean wait before the second try in seconds; it doubles with every further one. A server's Retry-After
        header takes precedence, up to `settings.max_wait_s`.
    patience_s : float or None
        No further try begins that many seconds after the first one did; by default the larger of 240 and four
        times `settings.timeout_s`. Until then a rate limit is waited for, beyond `settings.tries` too.

    Raises
    ------
    GeneratorError
        If the settings lack the address or the model.
    ConfigError
        If money is limited and a price is missing.
    """

    name = "openai"

    def __init__(
        self,
        settings: ModelApiSettings,
        account: Account,
        *,
        prompts: Prompts = "informed",
        backoff_s: float = 2.0,
        patience_s: float | None = None,
    ) -> None:
        _, self.model = settings.require_complete()
        if account.budget.usd is not None and None in (settings.price_in, settings.price_out):
            raise ConfigError(
                "budget.usd needs the prices of the model, in US dollars per million tokens: set "
                "BIFE_LLM_PRICE_IN and BIFE_LLM_PRICE_OUT (0 for a model of your own)."
            )
        self.settings = settings
        self.account = account
        self.prompts: Prompts = prompts
        self.needs_context = prompts == "informed"
        self._backoff_s = backoff_s
        self._patience_s = max(240.0, 4.0 * settings.timeout_s) if patience_s is None else patience_s
        self._gate = Lock()
        self._opened = False
        self._reached = False
        self._stopped: str | None = None

    def generate(self, request: WrittenRequest, context: PromptContext) -> Draft:
        """Write one rule.

        Raises
        ------
        GeneratorError
            When the key is refused, the model does not exist, the account is empty or the server was never
            reached: no further request would fare better. It is a `DraftingStoppedError` with the attempts.
        BudgetReachedError
            When the budget is used up; recorded answers are still given.
        """
        return self._answer(request, assemble(request, context, self.prompts))

    def repair(
        self, request: WrittenRequest, context: PromptContext, rejected: Draft, reason: str
    ) -> Draft | None:
        """Write the rule once more, told why the first answer is none; see `generate` for what is raised."""
        messages = answered_with(rejected, reason)
        return None if messages is None else self._answer(request, messages)

    def _answer(self, request: WrittenRequest, messages: tuple[Message, ...]) -> Draft:
        digest = prompt_digest(messages)
        known = self.account.store.answer(
            request.id, digest, model=self.model, temperature=self.settings.temperature
        )
        if known is not None:
            return read_answer(request, self.name, known, (known.attempt(recorded=True),))
        attempts: list[Attempt] = []
        call = Call(
            key=request.id,
            number=1,
            kind=request.kind,
            operator=request.operator,
            generation=request.generation,
            parents=tuple(parent.id for parent in request.parents),
            model=self.model,
            base_url=self.settings.address,
            temperature=self.settings.temperature,
            prompt_digest=digest,
            prompt_version=prompt_version(),
            messages=messages,
            started_unix_s=0.0,
            status="sent",
        )
        try:
            call, reply = self._ask_until_answered(call, request.seed, attempts)
        except BudgetReachedError as error:
            raise BudgetReachedError(str(error), self._without_rule(call, attempts, str(error))) from error
        if reply.outcome == "ok":
            return read_answer(request, self.name, call, tuple(attempts))
        failure = reply.problem or "The model API gave no answer."
        if reply.outcome == "retry":
            failure = f"No answer in {len(attempts)} tries; the last: {failure}"
        draft = self._without_rule(call, attempts, failure)
        if reply.outcome == "stop" or (reply.unreachable and not self._reached):
            self._stopped = self._stopped or reply.problem
            raise DraftingStoppedError(failure, draft)
        unanswered = "outage" if reply.outcome == "retry" else "refused"
        return draft.model_copy(update={"unanswered": unanswered})

    def _without_rule(self, call: Call, attempts: list[Attempt], failure: str) -> Draft:
        return Draft(
            key=call.key,
            generator=self.name,
            model=call.model,
            messages=call.messages,
            attempts=tuple(attempts),
            failure=failure,
        )

    def _ask_until_answered(self, draft: Call, seed: int, attempts: list[Attempt]) -> tuple[Call, Reply]:
        rng = np.random.default_rng(seed)
        patient_until_s = time.monotonic() + self._patience_s
        tried = 0
        while True:
            call, reply = self._call(draft)
            if call.status != "sent":
                attempts.append(call.attempt(recorded=False))
            tried += not reply.rate_limited
            hopeless = reply.unreachable and not self._reached and len(attempts) >= _UNREACHABLE_TRIES
            if reply.outcome != "retry" or hopeless or tried >= self.settings.tries:
                return call, reply
            wait_s = self._wait_s(rng, len(attempts), reply)
            if time.monotonic() + wait_s >= patient_until_s:
                return call, reply
            time.sleep(wait_s)

    def _wait_s(self, rng: np.random.Generator, attempt: int, reply: Reply) -> float:
        """Return the seconds to wait; jitter keeps requests that were refused together from coming back together."""
        backoff_s = self._backoff_s * 2.0 ** min(attempt - 1, _MOST_DOUBLINGS)
        if reply.retry_after_s is None:
            wanted_s = backoff_s * float(rng.uniform(0.5, 1.5))
        else:
            wanted_s = reply.retry_after_s + float(rng.uniform(0.0, 0.5)) * self._backoff_s
            if attempt >= self.settings.tries:  # told to come back again and again
                wanted_s = max(wanted_s, backoff_s)
        until_unix_s = self.account.until_unix_s
        left_s = math.inf if until_unix_s is None else max(until_unix_s - time.time(), 0.0)
        longest_s = self.settings.max_wait_s
        if (
            attempt >= self.settings.tries
        ):  # with nothing else to end them, calls must not follow one another at once
            longest_s = max(longest_s, _LEAST_WAIT_S)
        return min(wanted_s, longest_s, left_s)

    def _call(self, draft: Call) -> tuple[Call, Reply]:
        with self._gate:
            if not self._opened:
                try:
                    return self._recorded_call(draft)
                finally:
                    self._opened = True
        return self._recorded_call(draft)

    def _recorded_call(self, draft: Call) -> tuple[Call, Reply]:
        """Make one call: on disk before it goes out, and with its answer before that is read."""
        settings = self.settings
        if self._stopped is not None:
            return draft, Reply("stop", self._stopped)
        sent = self.account.begin(draft.model_copy(update={"started_unix_s": time.time()}), settings.cost_usd)
        clock = time.perf_counter()
        reply = ask(settings, sent.messages, request_id=f"bife-{quote(sent.key, safe='')}.{sent.number}")
        self._reached = self._reached or not reply.unreachable
        prompt_tokens, completion_tokens, estimated = _tokens(sent, reply)
        call = sent.model_copy(
            update={
                "seconds": time.perf_counter() - clock,
                "status": "ok" if reply.outcome == "ok" else "error",
                "http_status": reply.http_status,
                "error": reply.problem,
                "answer": reply.answer if reply.outcome == "ok" else None,
                "finish_reason": reply.finish_reason,
                "prompt_tokens": prompt_tokens,
                "completion_tokens": completion_tokens,
                "tokens_estimated": estimated,
                "cost_usd": settings.cost_usd(prompt_tokens, completion_tokens),
                "prompt_cost_usd": settings.cost_usd(prompt_tokens, 0),
                "response": reply.response,
            }
        )
        self.account.store.finish(call)
        if reply.outcome == "stop":
            self._stopped = reply.problem
        return call, reply


def _tokens(sent: Call, reply: Reply) -> tuple[int, int, bool]:
    """Return the tokens of prompt and answer, and whether they are guessed because the server was silent on them.

    A completion that broke off was written, and billed, up to there at least; a request that went out and brought no
    whole reply may have been billed for its prompt at least.
    """
    torn = isinstance(reply.response, str) and '"choices"' in reply.response
    reported = (reply.prompt_tokens, reply.completion_tokens)
    estimated = None in reported and (reply.outcome == "ok" or torn or reply.lost or bool(reply.answer))
    prompt = "".join(message.content for message in sent.messages)
    answer = str(reply.response) if torn else reply.answer or ""
    prompt_tokens, completion_tokens = (
        count if count is not None else _guessed(text) if estimated else 0
        for count, text in zip(reported, (prompt, answer), strict=True)
    )
    return prompt_tokens, completion_tokens, estimated


def _guessed(text: str) -> int:
    """Guess how many tokens a text has; four bytes a token is the common rule of thumb for English and code."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)


def answered_with(rejected: Draft, reason: str) -> tuple[Message, ...] | None:
    """Return the messages that ask a second time, or None if there was no answer."""
    answers = [attempt.answer or "" for attempt in rejected.attempts if attempt.status == "ok"]
    return assemble_repair(rejected.messages, answers[-1], reason) if answers else None


def read_answer(request: WrittenRequest, generator: str, call: Call, attempts: tuple[Attempt, ...]) -> Draft:
    """Turn a recorded call that has an answer into a draft: thought and source, a text, or why there is none."""
    known = {
        "key": request.id,
        "generator": generator,
        "model": call.model,
        "messages": call.messages,
        "attempts": attempts,
    }
    if isinstance(request, ReflectionRequest):
        text = parse_reflection(call.answer)
        return Draft(**known, text=text, failure=None if text else "The model's reflection was empty.")
    ending = call.finish_reason
    parsed = parse_answer(call.answer, cut_off=bool(ending) and str(ending).lower() not in _ENDED)
    failure = parsed.failure
    if failure is not None and ending == _WITHHELD:
        failure = f"The provider's content filter withheld the answer. {failure}"
    if failure is not None and ending == _LENGTH:
        failure = f"The answer reached the model's length limit. {failure}"
    return Draft(**known, thought=parsed.thought, source=parsed.source, failure=failure)


def configured(config: GeneratorConfig, account: Account) -> OpenAIGenerator:
    """Return the generator for the API the environment names; model and temperature of `config` win over it."""
    chosen = {"model": config.model, "temperature": config.temperature}
    update = {name: value for name, value in chosen.items() if value is not None}
    settings = ModelApiSettings.from_environment().model_copy(update=update)
    return OpenAIGenerator(settings, account, prompts=config.prompts)
