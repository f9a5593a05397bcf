"""What the calls of a search cost, and whether another one may go out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from threading import Lock

from bife_core.generators.base import NoDraftError
from bife_core.generators.calls import Call, CallStore
from bife_core.generators.config import BudgetConfig
from bife_core.values import Value

Price = Callable[[int, int], Decimal | None]


class Spending(Value):
    """What the calls of a search cost so far, those of interrupted earlier runs included.

    Attributes
    ----------
    calls : int
        Calls that went out.
    answered : int
        Those that brought a model's answer, whatever it was worth.
    unknown : int
        Those of which no whole reply came, for they broke off, took too long or were under way when their process
        ended (or are now): what was billed for them is not known.
    estimated : int
        Those whose tokens the server did not report and are guessed from the length of the texts.
    cost_usd : Decimal or None
        Exact sum of the calls' prices; None where no prices were set.
    """

    calls: int = 0
    answered: int = 0
    unknown: int = 0
    estimated: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: Decimal | None = None

    @property
    def tokens(self) -> int:
        """Tokens of prompts and answers."""
        return self.prompt_tokens + self.completion_tokens

    def plus(self, call: Call, price: Price | None = None) -> Spending:
        """Return the sum with one more call; `price` is asked where the call was made without prices."""
        cost = call.cost_usd
        if cost is None and price is not None:
            cost = price(call.prompt_tokens, call.completion_tokens)
        return Spending(
            calls=self.calls + 1,
            answered=self.answered + (call.status == "ok"),
            unknown=self.unknown + call.unknown,
            estimated=self.estimated + call.tokens_estimated,
            prompt_tokens=self.prompt_tokens + call.prompt_tokens,
            completion_tokens=self.completion_tokens + call.completion_tokens,
            cost_usd=cost if self.cost_usd is None else self.cost_usd + (cost or Decimal(0)),
        )


class BudgetReachedError(NoDraftError):
    """A limit of the budget ends the search."""


def reached(budget: BudgetConfig, spent: Spending) -> str | None:
    """Return the sentence that says which limit on calls, tokens or money is reached, or None."""
    limits: tuple[tuple[str, float | None, Decimal | int, str], ...] = (
        ("calls", budget.calls, spent.calls, "calls were made"),
        ("tokens", budget.tokens, spent.tokens, "tokens were used"),
        ("usd", budget.usd, spent.cost_usd or Decimal(0), "US dollars were spent"),
    )
    for name, limit, used, what in limits:
        # The shortest text of a float is the number that was typed; its binary value may lie beside it.
        if limit is not None and used >= Decimal(str(limit)):
            return f"budget.{name} is used up: {used:,} of {limit:,} {what}."
    return None


def out_of_time(budget: BudgetConfig) -> str:
    """Return the sentence that says that no time is left."""
    return f"budget.hours is used up: the search has run for {budget.hours or 0:g} hours."


@dataclass
class Account:
    """Lets calls out while the budget lasts; threads share it.

    A call is counted before it goes out, so `budget.calls` is never exceeded. What a call costs is known when it is
    answered: tokens and money exceed their limits by the calls under way at that moment at most.

    Parameters
    ----------
    store : CallStore
        The calls of the study; one process at a time adds to them.
    budget : BudgetConfig
        Its limit on hours is the caller's to keep, by `until_unix_s`.
    until_unix_s : float or None
        No call goes out after that time, and no try waits for it.
    samples : int or None
        Rules that the search may sample in this run and before it; None is all.
    """

    store: CallStore
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    until_unix_s: float | None = None
    samples: int | None = None

    def __post_init__(self) -> None:
        self._threads = Lock()

    def begin(self, call: Call, price: Price | None = None) -> Call:
        """Count `call` and write it to disk as one that goes out now; it is returned with its number.

        Raises
        ------
        BudgetReachedError
            If a limit is reached; then nothing is counted.
        """
        if self.until_unix_s is not None and time.time() >= self.until_unix_s:
            raise BudgetReachedError(out_of_time(self.budget))
        with self._threads:
            if self._limited:
                reason = reached(self.budget, self._spending(price))
                if reason is not None:
                    raise BudgetReachedError(reason)
            return self.store.begin(call)

    def spending(self) -> Spending:
        """Return what all calls on disk cost."""
        with self._threads:
            return self._spending()

    @property
    def _limited(self) -> bool:
        return any(value is not None for name, value in self.budget if name != "hours")

    def _spending(self, price: Price | None = None) -> Spending:
        spent = Spending()
        for call in self.store.calls():
            spent = spent.plus(call, price)
        return spent
