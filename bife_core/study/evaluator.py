"""The work of a search: a rule is written, scored and solved with; an executor runs several pieces at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

from bife_core.benchmarks.base import Instance
from bife_core.errors import ConfigError, GeneratorError
from bife_core.fidelity.config import HighFidelityConfig, LowFidelityConfig
from bife_core.fidelity.high import HighScore, ToBeat, score_high
from bife_core.fidelity.load_correction import Reference, measure_reference
from bife_core.fidelity.low import LowScore, score_low
from bife_core.fidelity.trial import TrialScore, score_trial
from bife_core.generators import (
    Account,
    Draft,
    DraftingStoppedError,
    Generator,
    NoDraftError,
    PromptContext,
    Repairing,
)
from bife_core.sandbox import Note, Workers
from bife_core.search import SampleRequest, SolveRequest, TrialRequest, WrittenRequest
from bife_core.store import Store
from bife_core.study.prompt_context import ContextBuilder, Past
from bife_core.symbolic.drafting import fit_draft

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Pending(Protocol[T_co]):
    """A result to come."""

    def result(self) -> T_co:
        """Wait for it and return it, or raise what its work raised."""
        ...


class Executor(Protocol):
    """Has work done, several pieces at once; those of `concurrent.futures` that run threads fit."""

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Pending[T]:
        """Begin a piece of work: a method of `Evaluator` and what it is to be called with."""
        ...


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """Does the work of one search; threads may share it.

    Attributes
    ----------
    context_builder : ContextBuilder
        What prompts tell of the benchmark and of the search.
    generator : Generator
        Who writes rules.
    account : Account
        Where its calls lie, and what they may cost.
    pool : Workers
        Where rules are scored and solved with.
    solves : Store
        Where finished solves are kept.
    low, high : LowFidelityConfig, HighFidelityConfig
        How F_LF and F_HF are measured.
    decisions : Path or None
        Recorded decisions; None where the search goes without F_LF.
    design, training : sequence of Instance
        What F_HF is measured on, and what trials solve.
    note : callable, optional
        Told, in a sentence, what a person should know.
    repair : bool
        Whether a generator that can is given the reason where its answer is no rule, and writes once more.
    past : Past
        What was known when the requests under way were made.
    """

    context_builder: ContextBuilder
    generator: Generator
    account: Account
    pool: Workers
    solves: Store
    low: LowFidelityConfig
    high: HighFidelityConfig
    decisions: Path | None
    design: Sequence[Instance]
    training: Sequence[Instance] = ()
    note: Note | None = None
    repair: bool = False
    past: Past = field(default_factory=Past)

    def refer(self) -> Reference:
        """Solve the design instances with RPB, which others are measured by.

        Raises
        ------
        OutOfTimeError
            If solves are left when the time of the budget is up.
        """
        return measure_reference(
            self.design,
            self.high,
            self.pool,
            self.solves,
            note=self.note,
            until_unix_s=self.account.until_unix_s,
        )

    def write(self, request: WrittenRequest) -> tuple[Draft, LowScore | None]:
        """Have a rule or a reflection written, or fitted; see `write_draft` for what is returned and raised."""
        if isinstance(request, SampleRequest) and request.fit is not None:
            return self._fit(request), None
        context = PromptContext(benchmark=self.context_builder.benchmark)
        if getattr(self.generator, "needs_context", False):
            context = self.context_builder.build(request, self.past)
        check = None
        if self.repair and isinstance(request, SampleRequest):
            check = partial(self.score, request)
        return write_draft(request, context, self.generator, self.account, check)

    def _fit(self, request: SampleRequest) -> Draft:
        if self.decisions is None:
            raise ConfigError("Rules are fitted to recorded decisions, and the search has none.")
        self.account.check_time()
        return fit_draft(request, self.decisions, self.pool, self.past.samples)

    def score(self, request: SampleRequest, draft: Draft) -> LowScore:
        """Check a draft's rule and, where the request wants it, measure F_LF."""
        if draft.source is None:
            return LowScore(failure=draft.failure or "The generator gave no rule.")
        # The numbers of a fitted rule are likeliest as they are.
        low = self.low if request.fit is None else self.low.model_copy(update={"tune": 0})
        return score_low(draft.source, self.decisions if request.scored else None, low, self.pool)

    def try_out(self, request: TrialRequest) -> TrialScore:
        """Solve training instances as a search asks.

        Raises
        ------
        OutOfTimeError
            If solves are left when the time of the budget is up.
        """
        return score_trial(
            request.source,
            request.sample or request.id,
            [self.training[position] for position in request.instances],
            self.high.model_copy(
                update={"time_limit_s": request.time_limit_s, "cost": request.cost or self.high.cost}
            ),
            self.pool,
            self.solves,
            note=self.note,
            until_unix_s=self.account.until_unix_s,
        )

    def solve(self, request: SolveRequest, reference: Reference) -> HighScore:
        """Solve the design instances with a rule.

        Raises
        ------
        OutOfTimeError
            If solves are left when the time of the budget is up.
        """
        return score_high(
            request.sample.source or "",
            request.id,
            self.design,
            self.high,
            self.pool,
            self.solves,
            note=self.note,
            reference=reference,
            to_beat=ToBeat(request.to_beat, request.best),
            until_unix_s=self.account.until_unix_s,
        )


class UnansweredError(NoDraftError):
    """The model API gave no answer for a rule."""

    draft: Draft


def write_draft(
    request: WrittenRequest,
    context: PromptContext,
    generator: Generator,
    account: Account,
    check: Callable[[Draft], LowScore] | None = None,
) -> tuple[Draft, LowScore | None]:
    """Have one rule or reflection written, all its calls accounted for; an answer without a rule is a draft too.

    Parameters
    ----------
    context : PromptContext
        What is solved and what is known, for the prompt.
    account : Account
        Where calls to a model API lie, those of interrupted earlier runs included.
    check : callable, optional
        Scores a draft. A generator that repairs is given the reason once where the draft has none, and the draft is
        what it writes then, with the calls for both.

    Returns
    -------
    draft : Draft
        The rule or text, or why there is none.
    score : LowScore or None
        What `check` found of this draft; None if it was not called for it.

    Raises
    ------
    DraftingStoppedError
        If no further request can succeed either, for instance because the key was refused.
    UnansweredError
        If the model API gave no answer.
    BudgetReachedError
        If the budget is used up.
    """
    account.check_time()
    began = time.perf_counter()
    try:
        draft, score = generator.generate(request, context), None
        if check is not None and isinstance(generator, Repairing) and draft.unanswered is None:
            draft, score = _repaired(draft, request, context, generator, check)
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
    return draft, score


def _repaired(
    draft: Draft,
    request: WrittenRequest,
    context: PromptContext,
    generator: Repairing,
    check: Callable[[Draft], LowScore],
) -> tuple[Draft, LowScore | None]:
    score = check(draft)
    if score.failure is None:
        return draft, score
    second = generator.repair(request, context, draft, score.failure)
    # A server that does not take the longer conversation leaves the first answer as it was.
    return (draft, score) if second is None or second.unanswered == "refused" else (second, None)


def _with_all_calls(draft: Draft, account: Account) -> Draft:
    """Add the calls of interrupted earlier runs: they were paid too, and each is traced under its number."""
    fresh = {attempt.started_unix_s for attempt in draft.attempts if not attempt.recorded}
    recorded = account.calls(draft.key)
    attempts = tuple(call.attempt(recorded=call.started_unix_s not in fresh) for call in recorded)
    return draft.model_copy(update={"attempts": attempts}) if attempts else draft
