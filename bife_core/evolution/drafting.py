"""Having one rule or reflection written, with all its calls accounted for."""

from __future__ import annotations

import time

from bife_core.errors import BifeError, GeneratorError
from bife_core.generators import Account, BudgetReachedError, Draft, DraftRequest, Generator, Parent
from bife_core.generators.account import out_of_time
from bife_core.search import ReflectionRequest, SampleRequest

WrittenRequest = SampleRequest | ReflectionRequest
"""What a generator is asked for."""


class DraftingStoppedError(GeneratorError):
    """No further rule can be written until a person changes something.

    Attributes
    ----------
    draft : Draft or None
        What met the problem, with its calls, so that they can still be traced.
    """

    def __init__(self, reason: str, draft: Draft | None = None) -> None:
        super().__init__(reason)
        self.draft = draft


class UnansweredError(BifeError):
    """The model API gave no answer for a rule; whether that is the rule's end is for the search to say.

    Attributes
    ----------
    draft : Draft
        What was tried.
    """

    def __init__(self, draft: Draft) -> None:
        super().__init__(draft.failure or "The model API gave no answer.")
        self.draft = draft

    def __reduce__(self) -> tuple[type[UnansweredError], tuple[Draft]]:
        return UnansweredError, (self.draft,)


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
        draft = generator.generate(_for_generator(request, benchmark))
    except BudgetReachedError as error:
        met = error.draft
        raise BudgetReachedError(str(error), met and _with_all_calls(met, account)) from error
    except GeneratorError as error:
        met = getattr(error, "draft", None)
        raise DraftingStoppedError(str(error), met and _with_all_calls(met, account)) from error
    draft = _with_all_calls(draft, account)
    # Calls read back from disk took their time in an earlier run.
    seconds = max(time.perf_counter() - began, sum(attempt.seconds for attempt in draft.attempts))
    draft = draft.model_copy(update={"seconds": seconds})
    if draft.unanswered is not None:
        raise UnansweredError(draft)
    return draft


def _for_generator(request: WrittenRequest, benchmark: str) -> DraftRequest:
    parents = tuple(
        Parent(
            id=parent.id,
            # With its parameters, where parameters are asked for.
            source=(request.operator == "skeleton" and parent.skeleton) or parent.source or "",
            thought=parent.thought,
            f_lf=parent.f_lf,
            f_hf=parent.f_hf,
        )
        for parent in request.parents
    )
    return DraftRequest(
        key=request.id,
        operator=request.operator,
        parents=parents,
        hints=request.hints,
        seed=request.seed,
        benchmark=benchmark,
    )


def _with_all_calls(draft: Draft, account: Account) -> Draft:
    """Add the calls of interrupted earlier runs: they were paid too, and each is traced under its number."""
    fresh = {attempt.started_unix_s for attempt in draft.attempts if not attempt.recorded}
    recorded = account.store.calls(draft.key)
    attempts = tuple(call.attempt(recorded=call.started_unix_s not in fresh) for call in recorded)
    return draft.model_copy(update={"attempts": attempts}) if attempts else draft
