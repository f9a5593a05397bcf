"""Rules written by a language model behind any OpenAI-compatible API."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

import httpx2
import numpy as np
import openai

from bife_core.base.errors import ConfigError
from bife_core.search.generators import replies
from bife_core.search.generators.account import Account, Call, request_id
from bife_core.search.generators.base import Draft, DraftingStoppedError, Message, NoDraftError, PromptContext
from bife_core.search.generators.config import GeneratorConfig
from bife_core.search.generators.model_settings import KEY_VARIABLE, ModelApiSettings
from bife_core.search.generators.pacing import Pace
from bife_core.search.generators.parsing import read_answer, without_reasoning
from bife_core.search.generators.prompting import assemble, assemble_repair, prompt_digest, prompt_version
from bife_core.search.types import Sample, SampleRequest, WrittenRequest

_NOT_ACCEPTED: Final = frozenset(range(400, 500)) - {408, 409, 429}
_MOST_BYTES: Final = 8 * 2**20
_CONNECT_S: Final = 20.0
_WHOLE: Final = "stream=false"  # what a server refuses that answers in chunks only
_EMPTY_ANSWERS: Final = 3  # answers without text before any other that stop a run
_LONGEST_WAIT_S: Final = 600.0
_LOADING_S: Final = 1800.0  # seconds that a server may ask to wait for, and that loading a model may take
FIRST_TURNS: Final = 2
"""Rules that each model writes in turn before the bandit chooses."""
_TOO_MUCH: Final = re.compile(r"too large|at most|maximum|exceed|less than", re.IGNORECASE)


def choose_model(
    models: Sequence[str], request: WrittenRequest, earlier: Iterable[Sample], calls: Iterable[Call]
) -> str:
    """Return the model that writes a rule, by what each wrote `earlier` and what its calls cost.

    A rule improves if its F_HF is higher than its parents'. How likely that is of a model is drawn (Thompson sampling)
    and divided by what its rules cost, in tokens where a price is missing. The draw depends on the request's seed and
    the earlier rules alone, so that a search taken up again asks the same model.
    """
    samples = {sample.id: sample for sample in earlier}
    made = [call for call in calls if call.key in samples and call.model in models]
    written = {model: {call.key for call in made if call.model == model} for model in models}
    if min(map(len, written.values())) < FIRST_TURNS:
        turn = request.number if isinstance(request, SampleRequest) else request.seed
        return models[turn % len(models)]
    priced = all(call.cost_usd is not None for call in made)
    # PCG64 by name: `default_rng` may choose another bit generator in a later NumPy.
    rng = np.random.Generator(np.random.PCG64(request.seed))

    def drawn(model: str) -> float:
        rules = written[model]
        better = sum(_improves(samples[name], samples) for name in rules)
        of_model = [call for call in made if call.model == model]
        costs = [
            call.cost_usd if priced else call.prompt_tokens + call.completion_tokens for call in of_model
        ]
        spent = sum(cost for cost in costs if cost is not None)
        return float(rng.beta(1 + better, 1 + len(rules) - better)) / max(float(spent) / len(rules), 1e-9)

    return max(models, key=drawn)


def _improves(sample: Sample, samples: Mapping[str, Sample]) -> bool:
    if sample.f_hf is None:
        return False
    parents = [samples[name].f_hf for name in sample.parents if name in samples]
    return all(f_hf is None or sample.f_hf > f_hf for f_hf in parents)


class OpenAIGenerator:
    """Asks a chat API for each rule; calls are recorded on `account` and recorded answers are not paid again.

    Threads may share it. Requests go out alone until an answer has text, so that a wrong key costs one; after an
    outcome that stops the run no other goes out. By default the `settings` are those of the environment. A
    `ConfigError` says that money is limited and a price is missing.
    """

    name: ClassVar[str] = "openai"
    key_variable: ClassVar[str] = KEY_VARIABLE

    def __init__(
        self, config: GeneratorConfig, account: Account, settings: ModelApiSettings | None = None
    ) -> None:
        settings = settings or _settings_for(config)
        _, self.models = settings.require_complete()
        if account.budget.usd is not None and not (settings.price_in and settings.price_out):
            raise ConfigError(
                "usd needs the prices of the model, in US dollars per million tokens: set "
                "BIFE_LLM_PRICE_IN and BIFE_LLM_PRICE_OUT (0 for a model of your own)."
            )
        self.settings, self.account, self.config = settings, account, config
        self.needs_context = config.prompts == "informed" or len(self.models) > 1
        self._client = _client(settings)
        self.concurrency = settings.concurrency
        self._stopped: str | None = None
        self._pace = Pace(settings.concurrency, lambda: self._stopped is not None or account.over())
        self._empty, self._warned = 0, set[str]()
        self._refused = {(call.model, name): "" for call in account.calls() for name in call.refused}

    @staticmethod
    def identity(config: GeneratorConfig) -> dict[str, Any]:
        """Return what answers depend on beside the configuration: the model and the prompts."""
        return {"model": _settings_for(config).model, "prompt_version": prompt_version()}

    def generate(self, request: WrittenRequest, context: PromptContext) -> Draft:
        """Write one rule; recorded answers are given even where the budget is used up."""
        calls = self.account.calls() if len(self.models) > 1 else ()
        model = choose_model(self.models, request, context.earlier, calls)
        return self._answer(request, assemble(request, context, self.config.prompts), model)

    def repair(
        self, request: WrittenRequest, context: PromptContext, rejected: Draft, reason: str
    ) -> Draft | None:
        """Write the rule once more, given why the first answer is none."""
        messages, model = assemble(request, context, self.config.prompts), rejected.model
        first = self._recorded(request, messages, model)
        return None if first is None else self._answer(request, assemble_repair(first, reason), model)

    def ask(self, key: str, prompt: Callable[[], tuple[Message, ...]]) -> str | None:
        """Return what the first model answers under a key, whatever the prompt was when it did."""
        call = next((call for call in reversed(self.account.calls(key)) if call.status == "ok"), None)
        if call is None:
            call = self._called(prompt(), self.models[0], key=key, kind="configurations")
        if call.status != "ok":
            raise NoDraftError(call.error or "The model API gave no answer.")
        return call.answer

    def _recorded(self, request: WrittenRequest, messages: tuple[Message, ...], model: str) -> Call | None:
        digest, temperature = prompt_digest(messages), self.config.temperature
        return self.account.answer(request.id, digest, model=model, temperature=temperature)

    def _answer(self, request: WrittenRequest, messages: tuple[Message, ...], model: str) -> Draft:
        recorded = self._recorded(request, messages, model)
        if recorded is not None:
            return read_answer(request, recorded)
        call = self._called(
            messages,
            model,
            key=request.id,
            kind=request.kind,
            operator=request.operator,
            generation=request.generation,
            parents=tuple(parent.id for parent in request.parents),
        )
        if call.status == "ok":
            return read_answer(request, call)
        unanswered: Any = "refused" if call.http_status in _NOT_ACCEPTED else "outage"
        return Draft(model=model, failure=call.error, unanswered=unanswered)

    def _called(self, messages: tuple[Message, ...], model: str, **about: Any) -> Call:
        """Make a call, which may fail; a `DraftingStoppedError` says that no other can succeed."""
        call = Call(
            model=model,
            base_url=self.settings.base_url or "",
            temperature=self.config.temperature,
            prompt_digest=prompt_digest(messages),
            prompt_version=prompt_version(),
            messages=messages,
            **about,
        )
        while call.status == "sent" and self._stopped is None:
            with self._pace.turn():
                call = call if self._stopped is not None else self._call(call)
        if call.status != "ok" and self._stopped is not None:
            if call.status == "sent" and call.started_unix_s:
                self.account.finish(call.model_copy(update={"status": "error", "error": self._stopped}))
            raise DraftingStoppedError(call.error or self._stopped)
        return call

    def _call(self, call: Call) -> Call:
        """Make one call, stored before it goes out and once it ended; without an end it goes out again."""
        call = call if call.started_unix_s else self.account.begin(call, self.settings.cost_usd)
        began_s = time.perf_counter()
        try:
            outcome = self._response(call)
            self._pace.answer()
            # Where a model only thinks, more requests would be billed for nothing; one that answered may do so again.
            lasting = outcome["status"] == "error" and outcome.get("finish_reason") == "length"
            lasting = lasting and not any(earlier.status == "ok" for earlier in self.account.calls())
            answer = outcome.get("answer") or ""
            empty = outcome["status"] == "ok" and not (without_reasoning(answer).strip() or "def " in answer)
            self._empty += empty and not self._pace.opened
            if self._empty == _EMPTY_ANSWERS:
                why = f"{self.settings.base_url} sent no text in its first {self._empty} answers."
                outcome |= {"status": "error", "error": f"{why} {replies.IN_CONTENT}"}
                lasting = True
        except openai.OpenAIError as error:
            (outcome, lasting), empty = replies.failure_of(self.settings, error), False
            if not lasting and self._goes_again(error, call):
                return call
        self._stopped = self._stopped or (outcome["error"] if lasting else None)
        call = call.model_copy(update=outcome | {"seconds": time.perf_counter() - began_s})
        call = call.model_copy(update=replies.bill_of(self.settings, call))
        self.account.finish(call)
        if call.status == "ok" and call.answered_in != "content":
            self._say(f"puts answers into `{call.answered_in}`, where they are read. {replies.IN_CONTENT}")
        if not self._pace.opened and (cut := replies.cut_prompt(call)):
            self._say(cut)
        if not empty:
            self._pace.open()
        return call

    def _say(self, what: str) -> None:
        if what not in self._warned:
            self._warned.add(what)
            self.account.say(f"{self.settings.base_url} {what}")

    def _goes_again(self, error: openai.OpenAIError, call: Call) -> bool:
        """Return whether a request waits for another turn: the server is busy, loads, or had others before it."""
        pace, late, wait_s = self._pace, f"late {call.key}", replies.wait_of(error)
        status = getattr(error, "status_code", 504 if isinstance(error, openai.APITimeoutError) else 0)
        busy = status in replies.BUSY and wait_s <= _LONGEST_WAIT_S
        # A server that answers others of ours all the time has this one wait, and is not at work on it.
        alive = pace.answered_unix_s > time.time() - self.settings.timeout_s / 3
        queued = status in replies.LATE and alive and late not in self._warned
        if self.account.over() or not (busy or queued):
            return False
        pace.refuse(wait_s)
        if queued:
            self._warned.add(late)
        elif replies.LOADS.match(replies.said_by(error)) and time.time() < call.started_unix_s + _LOADING_S:
            self._say("loads its model; requests wait.")
            return True
        if pace.opened and pace.limit < self.concurrency:
            self._say("is busy with requests of this run: fewer go out at once (BIFE_LLM_CONCURRENCY).")
        return queued or pace.refused < self.settings.tries

    def _response(self, call: Call) -> dict[str, Any]:
        """Return what comes of a request, which goes out again without each parameter that is refused."""
        refused_before = [name for model, name in list(self._refused) if model == call.model]
        refused = dict.fromkeys(refused_before, "")
        headers = {"X-Client-Request-Id": request_id(self.account.study, call)}
        body = {"model": call.model, "messages": [message.model_dump() for message in call.messages]}
        while True:
            parameters = self._parameters(refused)
            try:
                reply = self._client.post(
                    "/chat/completions",
                    cast_to=httpx2.Response,
                    body=body | parameters,
                    options={"headers": _headers(self.settings) | headers},
                )
                break
            except openai.APIStatusError as error:
                name = _refused_by(error, parameters)
                if name is None:
                    raise
                refused[name] = self.settings.redact(replies.said_by(error))
        for name in list(refused)[len(refused_before) :]:
            if self._refused.setdefault((call.model, name), call.key) == call.key:
                why = f"{self.settings.base_url} refuses {name} of {call.model}: {refused[name]}"
                self.account.say(f"{why}. Requests go out without it.")
        text = reply.content.decode("utf-8", "replace")
        return replies.completion_of(self.settings, reply.status_code, text) | {"refused": tuple(refused)}

    def _parameters(self, refused: Collection[str]) -> dict[str, Any]:
        """Return the optional parameters of a request, without those that the server refuses."""
        wanted = self.config.model_dump(include={"temperature", "reasoning_effort", "max_completion_tokens"})
        if "max_completion_tokens" in refused:  # the newer name for it
            wanted |= {"max_tokens": self.config.max_completion_tokens}
        if _WHOLE in refused:
            wanted |= {"stream": True, "stream_options": {"include_usage": True}}
        return {name: value for name, value in wanted.items() if value is not None and name not in refused}


def _refused_by(error: openai.APIStatusError, parameters: Collection[str]) -> str | None:
    """Return which parameter of a request a server names as one that it does not take, or None."""
    if error.status_code not in _NOT_ACCEPTED - replies.LASTING.keys():
        return None
    reply = error.response.text
    for name in {*parameters} - {"stream"}:
        named = error.param == name or re.search(rf"\b{name}\b", reply, re.IGNORECASE)
        if named and not (name.startswith("max_") and _TOO_MUCH.search(reply)):
            return name
    return _WHOLE if "stream" not in parameters and re.search(r"\bstream", reply, re.IGNORECASE) else None


class _Client(openai.DefaultHttpxClient):
    """Reads each reply whole, within a limit of time and size, wherever it comes from.

    Since each try is billed, a request that a model may be at work on is not repeated. No redirect is followed: it
    would take the prompt to another host.
    """

    def __init__(self, limit_s: float) -> None:
        super().__init__(follow_redirects=False)
        self._limit_s = limit_s

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request and return its reply, read and decoded."""
        until_s, body = time.monotonic() + self._limit_s, bytearray()
        try:
            reply = super().send(request, **options | {"stream": True})
        except httpx2.ReadTimeout as error:
            raise openai.APITimeoutError(request=request) from error
        try:
            for part in reply.iter_bytes():
                body += part
                if len(body) > _MOST_BYTES:
                    raise ValueError(f"more than {_MOST_BYTES:,} bytes")
                if time.monotonic() > until_s:
                    raise TimeoutError
        except (httpx2.HTTPError, ValueError, TimeoutError) as error:
            if reply.is_success:
                late = isinstance(error, httpx2.TimeoutException | TimeoutError)
                failure = openai.APITimeoutError if late else openai.APIConnectionError
                broken = failure(request=request)
                broken.body = body.decode("utf-8", "replace")
                raise broken from error
        finally:
            reply.close()
        hop_by_hop = ("content-encoding", "content-length", "transfer-encoding", "x-should-retry")
        headers = [(name, value) for name, value in reply.headers.multi_items() if name not in hop_by_hop]
        status = replies.status_of(reply.status_code, bytes(body))
        headers += [("x-should-retry", "false")] if status in (*replies.LATE, *replies.BUSY) else []
        return httpx2.Response(status, headers=headers, content=bytes(body), request=request)


def _client(settings: ModelApiSettings, *, timeout_s: float | None = None) -> openai.OpenAI:
    base_url, _ = settings.require_complete()
    limit_s = timeout_s or settings.timeout_s
    return openai.OpenAI(
        base_url=base_url,
        api_key=settings.api_key.get_secret_value() if settings.api_key is not None else "not-needed",
        timeout=openai.Timeout(limit_s, connect=min(limit_s, _CONNECT_S)),
        max_retries=settings.tries - 1 if timeout_s is None else 0,
        default_headers={name: value.get_secret_value() for name, value in settings.headers.items()},
        default_query=settings.query,
        http_client=_Client(limit_s),
    )


def _headers(settings: ModelApiSettings) -> dict[str, Any]:
    """Return headers of one request; without a key it has none that names one, unless it is the user's own."""
    named = {"authorization"} & {name.lower() for name in settings.headers}
    return {} if named or settings.api_key is not None else {"Authorization": openai.omit}


def offered(settings: ModelApiSettings) -> list[str]:
    """Return the names of the models the API lists, none where it has no list; asking costs nothing.

    A `DraftingStoppedError` says that the key is refused or nothing answers, a `NoDraftError` that an error may pass.
    """
    try:
        listed = _client(settings, timeout_s=10.0).models.list(extra_headers=_headers(settings))
        return [settings.redact(str(model.id)) for model in listed.data]
    except (openai.NotFoundError, TypeError, AttributeError):  # no list, or none of OpenAI's form
        return []
    except openai.OpenAIError as error:
        outcome, lasting = replies.failure_of(settings, error)
        stops = lasting or isinstance(error, openai.APIConnectionError)
        raise (DraftingStoppedError if stops else NoDraftError)(outcome["error"]) from error


def _settings_for(config: GeneratorConfig) -> ModelApiSettings:
    """Return the settings of the environment, with the model of a configuration where it names one."""
    settings = ModelApiSettings.from_environment()
    return settings.model_copy(update={"model": config.model or settings.model})
