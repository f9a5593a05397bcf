"""Having one rule or reflection written, with all its calls accounted for."""

from __future__ import annotations

import time
from collections.abc import Callable

from bife_core.errors import GeneratorError
from bife_core.generators import (
    Account,
    Briefing,
    BudgetReachedError,
    Draft,
    DraftingStoppedError,
    Generator,
    NoDraftError,
    Repairing,
)
from bife_core.generators.account import out_of_time
from bife_core.search import WrittenRequest


class UnansweredError(NoDraftError):
    """The model API gave no answer for a rule; whether that is the rule's end is for the search to say."""

    draft: Draft


def write_draft(
    request: WrittenRequest,
    briefing: Briefing,
    generator: Generator,
    account: Account,
    fault: Callable[[Draft], str | None] | None = None,
) -> Draft:
    """Have one rule or reflection written; an answer without one is a draft too.

    Parameters
    ----------
    briefing : Briefing
        What is solved and what is known, for the prompt.
    account : Account
        Where calls to a model API lie, those of interrupted earlier runs included.
    fault : callable, optional
        Says in a sentence what is wrong with a draft's rule, or None. A generator that can is told once, and the
        draft is what it writes then, with the calls for both.

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
        draft = generator.generate(request, briefing)
        if fault is not None and isinstance(generator, Repairing) and draft.unanswered is None:
            draft = _repaired(draft, request, briefing, generator, fault)
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


def _repaired(
    draft: Draft,
    request: WrittenRequest,
    briefing: Briefing,
    generator: Repairing,
    fault: Callable[[Draft], str | None],
) -> Draft:
    reason = fault(draft)
    if reason is None:
        return draft
    second = generator.repair(request, briefing, draft, reason)
    # A server that does not take the longer conversation leaves the first answer as it was.
    return draft if second is None or second.unanswered == "refused" else second


def _with_all_calls(draft: Draft, account: Account) -> Draft:
    """Add the calls of interrupted earlier runs: they were paid too, and each is traced under its number."""
    fresh = {attempt.started_unix_s for attempt in draft.attempts if not attempt.recorded}
    recorded = account.store.calls(draft.key)
    attempts = tuple(call.attempt(recorded=call.started_unix_s not in fresh) for call in recorded)
    return draft.model_copy(update={"attempts": attempts}) if attempts else draft
