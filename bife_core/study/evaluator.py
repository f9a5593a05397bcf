"""Where the work of a search is done: a rule is written, scored and solved with, by whoever an executor has do it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

from bife_core.benchmarks.base import Instance
from bife_core.errors import ConfigError
from bife_core.fidelity.config import HighFidelityConfig, LowFidelityConfig
from bife_core.fidelity.high import HighScore, ToBeat, score_high
from bife_core.fidelity.load_correction import Reference, measure_reference
from bife_core.fidelity.low import LowScore, score_low
from bife_core.fidelity.trial import TrialScore, score_trial
from bife_core.generators import Account, Briefing, BudgetReachedError, Draft, Generator
from bife_core.generators.account import out_of_time
from bife_core.sandbox import Note, Workers
from bife_core.search import ReflectionRequest, SampleRequest, SolveRequest, TrialRequest, WrittenRequest
from bife_core.store import Store
from bife_core.study.briefing import Briefer, Past
from bife_core.study.drafting import write_draft
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
    briefer : Briefer
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
        Whether a generator that can is told what is wrong with a rule, and writes it once more.
    past : Past
        What was known when the requests under way were made.
    """

    briefer: Briefer
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
    _checked: dict[str, tuple[str | None, LowScore]] = field(default_factory=dict)

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

    def write(self, request: WrittenRequest) -> Draft:
        """Have a rule or a reflection written, or fitted; see `write_draft` for what is raised."""
        if isinstance(request, SampleRequest) and request.fit is not None:
            return self._fit(request)
        briefing = Briefing(benchmark=self.briefer.benchmark)
        if getattr(self.generator, "briefed", False):
            briefing = self.briefer.brief(request, self.past)

        def fault(draft: Draft) -> str | None:
            assert isinstance(request, SampleRequest)
            score = self.score(request, draft)
            # The next to ask for this score is the search.
            self._checked[request.id] = draft.source, score
            return score.failure

        checks = self.repair and not isinstance(request, ReflectionRequest)
        return write_draft(request, briefing, self.generator, self.account, fault if checks else None)

    def _fit(self, request: SampleRequest) -> Draft:
        if self.decisions is None:
            raise ConfigError("Rules are fitted to recorded decisions, and the search has none.")
        if self.account.until_unix_s is not None and time.time() >= self.account.until_unix_s:
            raise BudgetReachedError(out_of_time(self.account.budget))
        return fit_draft(request, self.decisions, self.pool, self.past.samples)

    def score(self, request: SampleRequest, draft: Draft) -> LowScore:
        """Check a draft's rule and, where the request wants it, measure F_LF."""
        if draft.source is None:
            return LowScore(failure=draft.failure or "The generator gave no rule.")
        source, known = self._checked.pop(request.id, (None, None))
        if known is not None and source == draft.source:
            return known
        # The numbers of a skeleton are the search's own to tune, and those of a fitted rule are likeliest as they are.
        leave = draft.skeleton is not None or request.fit is not None
        low = self.low.model_copy(update={"tune": 0}) if leave else self.low
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
