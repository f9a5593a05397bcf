"""Rules written by a language model behind any OpenAI-compatible API."""

from __future__ import annotations

import time
from typing import Final

import numpy as np
from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_attempt

from bife_core.errors import GeneratorError
from bife_core.generators.base import Attempt, Generation, GenerationRequest, Message
from bife_core.generators.calls import Call, CallStore
from bife_core.generators.model_api import Reply, ask
from bife_core.generators.model_settings import ModelApiSettings
from bife_core.generators.parsing import parse_answer, parse_reflection, read_skeleton
from bife_core.generators.prompting import REFLECTIONS, assemble, prompt_digest, prompt_version

_LENGTH: Final = "length"


class ModelApiError(GeneratorError):
    """The API will not answer any request until a person changes something.

    Attributes
    ----------
    generation : Generation
        The generation that met the problem, with its attempts, so that they can still be traced.
    """

    def __init__(self, generation: Generation) -> None:
        super().__init__(generation.failure or "The model API stopped answering.")
        self.generation = generation

    def __reduce__(self) -> tuple[type[ModelApiError], tuple[Generation]]:
        return ModelApiError, (self.generation,)


class OpenAIGenerator:
    """Asks a chat API for each rule; calls are recorded in `calls` and recorded answers are not paid again.

    It holds no state between requests, so threads may share it.

    Parameters
    ----------
    settings : ModelApiSettings
        Address, model, key, limits and prices.
    calls : CallStore
        Where every call is written before its answer is read.
    tries : int
        Calls made for one rule at most; rate limits, server errors, broken connections and timeouts are tried
        again.
    backoff_s : float
        Mean wait before the second try in seconds; it doubles with every further one. A server's Retry-After
        header takes precedence.
    max_wait_s : float
        Longest wait between two tries in seconds.

    Raises
    ------
    GeneratorError
        If the settings lack the address or the model.
    """

    name = "openai"

    def __init__(
        self,
        settings: ModelApiSettings,
        calls: CallStore,
        *,
        tries: int = 4,
        backoff_s: float = 2.0,
        max_wait_s: float = 60.0,
    ) -> None:
        _, self.model = settings.require_complete()
        self.settings = settings
        self.calls = calls
        self._tries = tries
        self._backoff_s = backoff_s
        self._max_wait_s = max_wait_s

    def generate(self, request: GenerationRequest) -> Generation:
        """Write one rule.

        Raises
        ------
        GeneratorError
            When the key is refused, the model does not exist, the account is empty or the server cannot be
            reached: no further request would fare better. It is a `ModelApiError` and carries the attempts.
        """
        messages = assemble(request)
        digest = prompt_digest(messages)
        known = self.calls.answer(
            request.key, digest, model=self.model, temperature=self.settings.temperature
        )
        if known is not None:
            return read_answer(request, self.name, known, (known.attempt(recorded=True),))
        attempts: list[Attempt] = []
        call, reply = self._ask_until_answered(request, messages, digest, attempts)
        if reply.verdict == "ok":
            return read_answer(request, self.name, call, tuple(attempts))
        failure = reply.problem or "The model API gave no answer."
        if reply.verdict == "retry":
            failure = f"No answer in {len(attempts)} tries; the last: {failure}"
        generation = Generation(
            key=request.key,
            generator=self.name,
            model=self.model,
            messages=messages,
            attempts=tuple(attempts),
            failure=failure,
        )
        if reply.verdict == "stop" or reply.unreachable:
            raise ModelApiError(generation)
        return generation

    def _ask_until_answered(
        self, request: GenerationRequest, messages: tuple[Message, ...], digest: str, attempts: list[Attempt]
    ) -> tuple[Call, Reply]:
        rng = np.random.default_rng(request.seed)

        def attempt() -> tuple[Call, Reply]:
            started_unix_s, clock = time.time(), time.perf_counter()
            reply = ask(self.settings, messages)
            call = Call(
                key=request.key,
                number=self.calls.next_number(request.key),
                model=self.model,
                base_url=self.settings.address,
                temperature=self.settings.temperature,
                prompt_digest=digest,
                prompt_version=prompt_version(),
                messages=messages,
                started_unix_s=started_unix_s,
                seconds=time.perf_counter() - clock,
                status="ok" if reply.verdict == "ok" else "error",
                http_status=reply.http_status,
                error=reply.problem,
                answer=reply.answer,
                finish_reason=reply.finish_reason,
                prompt_tokens=reply.prompt_tokens,
                completion_tokens=reply.completion_tokens,
                cost_usd=self.settings.cost_usd(reply.prompt_tokens, reply.completion_tokens),
                response=reply.response,
            )
            self.calls.write(call)
            attempts.append(call.attempt(recorded=False))
            return call, reply

        def wait_s(state: RetryCallState) -> float:
            assert state.outcome is not None
            _, reply = state.outcome.result()
            # Jitter keeps requests that were refused together from coming back together.
            backoff_s = self._backoff_s * 2.0 ** (state.attempt_number - 1) * float(rng.uniform(0.5, 1.5))
            return min(backoff_s if reply.retry_after_s is None else reply.retry_after_s, self._max_wait_s)

        retrying = Retrying(
            stop=stop_after_attempt(self._tries),
            wait=wait_s,
            retry=retry_if_result(lambda outcome: outcome[1].verdict == "retry"),
            retry_error_callback=lambda state: state.outcome.result() if state.outcome is not None else None,
        )
        result: tuple[Call, Reply] = retrying(attempt)
        return result


def read_answer(
    request: GenerationRequest, generator: str, call: Call, attempts: tuple[Attempt, ...]
) -> Generation:
    """Turn a recorded call that has an answer into a generation: thought and source, a text, or why there is none."""
    known = {
        "key": request.key,
        "generator": generator,
        "model": call.model,
        "messages": call.messages,
        "attempts": attempts,
    }
    if request.operator in REFLECTIONS:
        text = parse_reflection(call.answer)
        return Generation(**known, text=text, failure=None if text else "The model's reflection was empty.")
    parsed = parse_answer(call.answer, cut_off=call.finish_reason == _LENGTH)
    source, skeleton, failure = parsed.source, None, parsed.failure
    if request.operator == "skeleton" and parsed.source is not None:
        source, skeleton, failure = read_skeleton(parsed.source)
    return Generation(**known, thought=parsed.thought, source=source, skeleton=skeleton, failure=failure)
