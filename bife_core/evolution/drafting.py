"""Having one rule or reflection written, with all its calls accounted for."""

from __future__ import annotations

import time

from bife_core.errors import GeneratorError
from bife_core.generators import (
    Account,
    BudgetReachedError,
    Draft,
    DraftingStoppedError,
    Generator,
    NoDraftError,
)
from bife_core.generators.account import out_of_time
from bife_core.search import WrittenRequest


class UnansweredError(NoDraftError):
    """The model API gave no answer for a rule; whether that is the rule's end is for the search to say."""

    draft: Draft


def write_draft(request: WrittenRequest, benchmark: str, generator: Generator, account: Account) -> Draft:
    """Have one rule or reflection written; an answer without one is a draft too.

    Parameters
    ----------
    benchmark : str
        What is solved, for the prompt.
    account : Account
        Where calls to a model API lie, those of interrupted earlier runs included.

    Raises
    ------
    DraftingStoppedError
        If no further request can succeed either, for instance because the key was refused.
    UnansweredError
        If the model API gave no answer.
    BudgetReachedError
        If the budget is used up.
    """
    if account.until_unix_s is not None and time.time() >= account.until_unix_s:
        raise BudgetReachedError(out_of_time(account.budget))
    began = time.perf_counter()
    try:
        draft = generator.generate(request, benchmark)
    except NoDraftError as error:
        error.draft = error.draft and _with_all_calls(error.draft, account)
        raise
    except GeneratorError as error:
        raise DraftingStoppedError(str(error)) from error
    draft = _with_all_calls(draft, account)
    # Calls read back from disk took their time in an earlier run.
    seconds = max(time.perf_counter() - began, sum(attempt.seconds for attempt in draft.attempts))
    draft = draft.model_copy(update={"seconds": seconds})
    if draft.unanswered is not None:
        raise UnansweredError(draft.failure or "The model API gave no answer.", draft)
    return draft


def _with_all_calls(draft: Draft, account: Account) -> Draft:
    """Add the calls of interrupted earlier runs: they were paid too, and each is traced under its number."""
    fresh = {attempt.started_unix_s for attempt in draft.attempts if not attempt.recorded}
    recorded = account.store.calls(draft.key)
    attempts = tuple(call.attempt(recorded=call.started_unix_s not in fresh) for call in recorded)
    return draft.model_copy(update={"attempts": attempts}) if attempts else draft
