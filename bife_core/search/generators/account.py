"""Calls to a model API: each is a row of the store before it goes out, and counts against the budget of its search.

The rows are the ledger: whatever kills a process, a call that went out is one row, with tokens and price once it ended.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal, TypeVar
from urllib.parse import quote

from pydantic import Field, ValidationError

from bife_core.base.errors import GeneratorError, StoreError
from bife_core.base.values import Value, describe
from bife_core.search.generators.base import Message, NoDraftError
from bife_core.search.generators.config import BudgetConfig
from bife_core.store import DATABASE, Store

T = TypeVar("T")


class Call(Value):
    """One request as it went out and what came back.

    `key` is that of the request and `number` says which call for it this was, from 1; `parents` are ids. The prompt's
    digest is a hash of `messages`, its version one of the prompt files. `status` is "sent" until something came back;
    `answer` is the text in the field `answered_in` of the model's message, None where the call failed, and `response`
    the whole reply. Some tokens of the prompt were `cached_tokens`; `tokens_estimated` says that the server reported
    none. `cost_usd` is exact, None without prices. `refused` are parameters that the server does not take.
    """

    key: str
    number: int = Field(1, ge=1)
    kind: Literal["sample", "reflection", "configurations"] = "sample"
    operator: str = ""
    generation: int = 0
    parents: tuple[str, ...] = ()
    model: str
    base_url: str
    temperature: float | None = None
    prompt_digest: str
    prompt_version: str
    messages: tuple[Message, ...]
    started_unix_s: float = 0.0
    seconds: float = 0.0
    status: Literal["sent", "ok", "error"] = "sent"
    error: str | None = None
    http_status: int | None = None
    answer: str | None = None
    answered_in: str = "content"
    finish_reason: str | None = None
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    tokens_estimated: bool = False
    cost_usd: Decimal | None = None
    refused: tuple[str, ...] = ()
    response: Any = None

    @property
    def unknown(self) -> bool:
        """Whether it is not known what was billed: no reply came, or has come yet."""
        return self.status == "sent" or (self.status == "error" and self.tokens_estimated)


Price = Callable[[Call], Decimal | None]
"""Cost in US dollars of a call; None without prices."""


class Spending(Value):
    """What the calls of a search cost so far, those of interrupted earlier runs included."""

    calls: int = 0  # that went out
    answered: int = 0  # by a model
    unknown: int = 0  # of which is not known what was billed
    estimated: int = 0  # of which the server did not report the tokens
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: Decimal | None = None  # exact; None where no prices were set

    @property
    def tokens(self) -> int:
        """Tokens of prompts and answers."""
        return self.prompt_tokens + self.completion_tokens

    def price(self, digits: int = 4) -> str:
        """Return the cost in words, "unknown" where there were calls and no prices; nothing without a call."""
        if self.cost_usd is None:
            return "unknown" if self.calls else ""
        return f"${self.cost_usd:.{digits}f}"

    @property
    def caveat(self) -> str:
        """What is not known of the tokens and the cost, to be put behind them."""
        guessed = f", the tokens of {self.estimated} guessed" if self.estimated else ""
        return guessed + (f", the bill of {self.unknown} unknown" if self.unknown else "")

    @classmethod
    def of(cls, calls: Sequence[Call], price: Price | None = None) -> Spending:
        """Return the sum of calls; `price` is asked where one was made without prices."""
        costs = [price(call) if price and call.cost_usd is None else call.cost_usd for call in calls]
        priced = [cost for cost in costs if cost is not None]
        return cls(
            calls=len(calls),
            answered=sum(call.status == "ok" for call in calls),
            unknown=sum(call.unknown for call in calls),
            estimated=sum(call.tokens_estimated for call in calls),
            prompt_tokens=sum(call.prompt_tokens for call in calls),
            cached_tokens=sum(call.cached_tokens for call in calls),
            completion_tokens=sum(call.completion_tokens for call in calls),
            cost_usd=sum(priced, Decimal(0)) if priced else None,
        )


class BudgetReachedError(NoDraftError):
    """A limit of the budget ends the search."""


_SPENT: Final = {
    "calls": "calls were made",
    "tokens": "tokens were used",
    "usd": "US dollars were spent",
    "solver_s": "CPU seconds went into solves",
}


def _used(budget: BudgetConfig, spent: Spending, solver_s: float) -> Iterator[tuple[str, Decimal, Decimal]]:
    """Yield the limits on calls, tokens, money and solves with what of each is used."""
    money, solves = spent.cost_usd or Decimal(0), Decimal(f"{solver_s:.3f}")
    for name, used in zip(_SPENT, (Decimal(spent.calls), Decimal(spent.tokens), money, solves), strict=True):
        if (limit := getattr(budget, name)) is not None:
            # The shortest text of a float is the number that was typed; its binary value may lie beside it.
            yield name, used, Decimal(str(limit))


def reached(budget: BudgetConfig, spent: Spending, solver_s: float = 0.0) -> str | None:
    """Return the sentence that says which limit on calls, tokens, money or solves is reached, or None."""
    for name, used, limit in _used(budget, spent, solver_s):
        if used >= limit:
            setting = name if name == "usd" else f"budget.{name}"
            return f"{setting} is used up: {used:,} of {limit:,} {_SPENT[name]}."
    return None


def left_of(budget: BudgetConfig, spent: Spending) -> BudgetConfig:
    """Return what calls made before leave of a budget; a limit that they reach is put as low as may be."""
    used = {"calls": spent.calls, "tokens": spent.tokens, "usd": float(spent.cost_usd or 0)}
    limits = budget.model_dump(include=set(used), exclude_none=True)
    left = {name: max(limit - used[name], 1e-6 if name == "usd" else 1) for name, limit in limits.items()}
    return budget.model_copy(update=left)


def used_shares(budget: BudgetConfig, spent: Spending, solver_s: float, elapsed_s: float) -> dict[str, float]:
    """Return which share of each limit of a budget is used."""
    shares = {name: float(used / limit) for name, used, limit in _used(budget, spent, solver_s)}
    return shares if budget.hours is None else shares | {"hours": elapsed_s / 3600.0 / budget.hours}


def out_of_time(budget: BudgetConfig) -> str:
    """Return the sentence that says that no time is left."""
    return f"hours is used up: the search has run for {budget.hours or 0:g} hours."


@dataclass
class Account:
    """The calls of one study, let out while its budget lasts; threads may share it.

    A call counts once, before it goes out, however often the client repeats it. Tokens and money exceed their limits by
    the calls under way at most. No call goes out once `over` says that no time is left. `say` is called with what the
    user should know. `answered` counts the answers that came in this process.
    """

    store: Store
    study: str
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    over: Callable[[], bool] = lambda: False
    say: Callable[[str], object] = warnings.warn
    answered: int = field(default=0, init=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def check_time(self) -> None:
        """Raise a `BudgetReachedError` when no time is left."""
        if self.over():
            raise BudgetReachedError(out_of_time(self.budget))

    def begin(self, call: Call, price: Price | None = None) -> Call:
        """Store `call` before it goes out and return it; or raise `BudgetReachedError` or `GeneratorError`."""
        self.check_time()
        sent = call.model_copy(update={"status": "sent", "started_unix_s": time.time()})
        with self._lock:
            # Reading all calls takes a while, so that it is left out where no limit needs it.
            limited = {self.budget.calls, self.budget.tokens, self.budget.usd} != {None}
            reason = reached(self.budget, self.spending(price)) if limited else None
            if reason is not None:
                raise BudgetReachedError(reason)
            number = _stored(self.store.begin_call, self.study, sent.key, sent.model_dump(mode="json"))
        return sent.model_copy(update={"number": number})

    def finish(self, call: Call) -> None:
        """Store what came of a call that `begin` returned, or raise a `GeneratorError`."""
        _stored(self.store.finish_call, self.study, call.key, call.number, call.model_dump(mode="json"))
        with self._lock:
            self.answered += call.status == "ok"

    def calls(self, key: str | None = None) -> list[Call]:
        """Return the calls for `key`, or for all keys, ordered by key and number."""
        return [_call(number, body) for _, number, body in self.store.calls(self.study, key)]

    def answer(self, key: str, prompt_digest: str, *, model: str, temperature: float | None) -> Call | None:
        """Return the latest answer to exactly this request, or None if it was never answered."""
        wanted = ("ok", prompt_digest, model, temperature)
        made = reversed(self.calls(key))
        return next((c for c in made if (c.status, c.prompt_digest, c.model, c.temperature) == wanted), None)

    def spending(self, price: Price | None = None) -> Spending:
        """Return what all calls in the store cost."""
        return Spending.of(self.calls(), price)


def request_id(study: str, call: Call) -> str:
    """Return what a provider knows a call by: the header `X-Client-Request-Id`, of ASCII letters and signs."""
    return f"bife-{quote(study, safe='')}.{quote(call.key, safe='')}.{call.number}"


def recorded_calls(directory: Path) -> list[Call]:
    """Return the calls in a folder's store or JSON files, by key and number; or raise `GeneratorError`."""
    if (directory / DATABASE).is_file():
        return [_call(number, body) for _, number, body in Store(directory).calls()]
    calls = []
    for path in sorted(directory.glob("*.json")):
        try:
            calls.append(Call.model_validate_json(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, ValidationError) as error:
            why = describe(error).rstrip(".")
            raise GeneratorError(f"{path} is no recorded model call ({why}); move it away.") from error
    return sorted(calls, key=lambda call: (call.key, call.number))


def _call(number: int, body: dict[str, Any]) -> Call:
    return Call.model_validate(body | {"number": number})


def _stored(write: Callable[..., T], *row: Any) -> T:
    # Not left to retries for disk trouble: another try would be another billed call.
    try:
        return write(*row)
    except StoreError as error:
        raise GeneratorError(f"No call is made to the model API that cannot be stored. {error}") from error
