"""Finding the answers to what a search asks: in the journal, or else by having rules written, scored, solved with."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from bife_core.errors import ConfigError
from bife_core.evolution.drafting import DraftingStoppedError, UnansweredError, WrittenRequest
from bife_core.evolution.journal import (
    Drafted,
    Journal,
    JournalError,
    Scored,
    Solved,
    Tried,
    Unanswered,
)
from bife_core.evolution.watching import Watcher
from bife_core.evolution.workshop import Executor, Pending, Workshop
from bife_core.fidelity.high import HighScore
from bife_core.fidelity.low import LowScore
from bife_core.fidelity.trial import TrialScore
from bife_core.generators import BudgetReachedError, Draft
from bife_core.generators.account import out_of_time
from bife_core.scip.builtin import RPB
from bife_core.search import (
    Answer,
    CostLedger,
    ReflectionAnswer,
    ReflectionRequest,
    Request,
    SampleAnswer,
    SampleRequest,
    SolveAnswer,
    SolveRequest,
    TrialAnswer,
    TrialRequest,
)
from bife_core.solves import OutOfTimeError

T = TypeVar("T")

_BY_THE_SEARCH: Final = "search"
"""Generator of rules that a search brings along."""

SILENT_REQUESTS: Final = 4
"""Requests in a row that a model API leaves unanswered before a search that was answered earlier stops."""


@dataclass(frozen=True)
class _Known(Generic[T]):
    """A result the journal has."""

    value: T

    def result(self) -> T:
        return self.value


class Answering:
    """Finds the answers to all requests of one `ask` at once; what is new is in the journal before it is used.

    Parameters
    ----------
    journal : Journal
        What is known already, and where the rest is written down.
    workshop : Workshop
        Where the rest is found out.
    executor : Executor
        Who has that done.
    ledger : CostLedger
        Told what was spent, whenever that was.

    Attributes
    ----------
    solves : dict
        F_HF with its solves, by the sample's id.
    trials : list of dict
        One row per trial, in the order they were asked for.
    ended_by : str or None
        Which limit of the budget is reached; from then on nothing new is written any more.
    not_written : set of str
        Requests that went without an answer because of it.
    """

    def __init__(
        self, journal: Journal, workshop: Workshop, executor: Executor, ledger: CostLedger, watcher: Watcher
    ) -> None:
        self.solves: dict[str, HighScore] = {}
        self.trials: list[dict[str, Any]] = []
        self.ended_by: str | None = None
        self.not_written: set[str] = set()
        self._journal = journal
        self._workshop = workshop
        self._executor = executor
        self._ledger = ledger
        self._watcher = watcher
        self._asked = 0
        self._silence = 0
        self._ever_answered = False
        self._drafts = {e.request.id: e for e in journal.entries if isinstance(e, Drafted)}
        self._scores = {e.id: e.score for e in journal.entries if isinstance(e, Scored)}
        self._trials = {e.request.id: e for e in journal.entries if isinstance(e, Tried)}
        self._solves = {e.id: e.score for e in journal.entries if isinstance(e, Solved)}

    def answers(self, requests: Sequence[Request]) -> tuple[Answer, ...]:
        """Return the answers in the order of the requests.

        Raises
        ------
        DraftingStoppedError
            If no further rule can be written.
        JournalError
            If the journal has the answer to another request of the same name.
        """
        found: dict[tuple[str, str], Answer] = {}
        for answer in (
            *self._reflect([request for request in requests if isinstance(request, ReflectionRequest)]),
            *self._sample([request for request in requests if isinstance(request, SampleRequest)]),
            *self._try([request for request in requests if isinstance(request, TrialRequest)]),
            *self._solve([request for request in requests if isinstance(request, SolveRequest)]),
        ):
            found[answer.kind, answer.id] = answer
        return tuple(found[request.kind, request.id] for request in requests)

    def _write(self, requests: Sequence[WrittenRequest]) -> Iterator[tuple[WrittenRequest, Draft]]:
        """Have rules or reflections written, all at once, and yield each in order as soon as it is there.

        Those that the model API leaves unanswered come last, as failures, if others are answered.
        """
        begun = {request.id: self._begin(request) for request in requests}
        silent: dict[str, Draft] = {}
        stopped: DraftingStoppedError | None = None
        for request in requests:
            pending = begun[request.id]
            if pending is None:
                continue
            try:
                draft = pending.result()
            except DraftingStoppedError as stop:
                # The others are waited for all the same: what they cost must not be lost.
                self._unanswered(request, stop.draft, str(stop))
                stopped = stop
            except BudgetReachedError as end:
                self._unanswered(request, end.draft, str(end))
                self.ended_by = self.ended_by or str(end)
                self.not_written.add(request.id)
            except UnansweredError as missing:
                self._unanswered(request, missing.draft, str(missing))
                silent[request.id] = missing.draft
            else:
                yield request, self._drafted(request, draft)
        stopped = stopped or self._outage(silent, sum(_by_generator(request) for request in requests))
        if stopped is not None:
            raise stopped
        for request in requests:
            if request.id in silent and self.ended_by is not None:
                self.not_written.add(request.id)
            elif request.id in silent:
                # The search goes on without this rule, now and whenever it is taken up again.
                yield request, self._drafted(request, silent[request.id])

    def _begin(self, request: WrittenRequest) -> Pending[Draft] | None:
        """Have a draft looked up or written; None where the budget does not allow it."""
        place = self._asked
        self._asked += isinstance(request, SampleRequest)
        known = self._drafts.get(request.id)
        if known is not None:
            if known.request != request:
                raise JournalError(
                    f"The journal in {self._journal.folder} has an answer to another request {request.id} than "
                    "this search makes: it was written by another version of BiFE. Move the folder away to have "
                    "the search made anew."
                )
            return _Known(known.draft)
        if not _by_generator(request):
            return _Known(_brought_along(request))
        limit = self._workshop.account.budget.samples
        if (
            self.ended_by is None
            and limit is not None
            and place >= limit
            and isinstance(request, SampleRequest)
        ):
            self.ended_by = f"budget.samples is used up: {limit:,} rules were sampled."
        if self.ended_by is not None:
            self.not_written.add(request.id)
            return None
        return self._executor.submit(self._workshop.write, request)

    def _drafted(self, request: WrittenRequest, draft: Draft) -> Draft:
        self._ever_answered |= draft.unanswered is None and bool(draft.attempts)
        if request.id not in self._drafts:
            self._drafts[request.id] = self._journal.add(Drafted(request=request, draft=draft))
        return draft

    def _unanswered(self, request: WrittenRequest, draft: Draft | None, reason: str) -> None:
        if draft is not None and draft.attempts:
            self._journal.add(Unanswered(request=request, draft=draft, reason=reason))

    def _outage(self, silent: dict[str, Draft], asked: int) -> DraftingStoppedError | None:
        """Return why the search must stop if the model API does not answer any more, or never did.

        A request that goes unanswered among others that are answered is a failed sample. When none is answered,
        going on would turn an hour without network into a search without rules.
        """
        if len(silent) < asked or not silent:
            self._silence = 0
            return None
        self._silence += asked
        down = all(draft.unanswered == "outage" for draft in silent.values())
        if self._ever_answered and not (down and self._silence >= SILENT_REQUESTS):
            return None
        reason = next(iter(silent.values())).failure
        counted = "the only request" if asked == 1 else f"none of the last {self._silence} requests"
        what = "did not answer" if asked == 1 else "answered"
        return DraftingStoppedError(f"The model API {what} {counted}. {reason} Run again to go on.")

    def _reflect(self, requests: Sequence[ReflectionRequest]) -> list[Answer]:
        """Have reflections written."""
        if not requests:
            return []
        self._watcher.activity(f"writing {len(requests)} reflections")
        answers: dict[str, Answer] = {}
        for request, draft in self._write(requests):
            self._ledger.reflected(draft.seconds)
            answers[request.id] = ReflectionAnswer(id=request.id, text=draft.text, failure=draft.failure)
            self._watcher.progress(len(answers), len(requests))
        return [
            answers.get(request.id) or ReflectionAnswer(id=request.id, failure=self._why_not_written())
            for request in requests
        ]

    def _why_not_written(self) -> str:
        return f"Not written: {self.ended_by}"

    def _sample(self, requests: Sequence[SampleRequest]) -> list[Answer]:
        """Have rules written, all at once, and score each as soon as it is there."""
        if not requests:
            return []
        self._watcher.activity(f"sampling {len(requests)} rules")
        drafts: dict[str, Draft] = {}
        pending: dict[str, Pending[LowScore]] = {}
        try:
            for request, draft in self._write(requests):
                assert isinstance(request, SampleRequest)
                drafts[request.id] = draft
                pending[request.id] = self._score(request, draft)
        except DraftingStoppedError:
            for name, scoring in pending.items():
                self._scored(name, scoring)
            raise
        answers: list[Answer] = []
        for request in requests:
            if request.id not in pending:
                answers.append(SampleAnswer(id=request.id, failure=self._why_not_written()))
                continue
            score = self._scored(request.id, pending[request.id])
            answers.append(self._sampled(request, drafts[request.id], score))
            self._watcher.progress(len(answers), len(requests))
        return answers

    def _score(self, request: SampleRequest, draft: Draft) -> Pending[LowScore]:
        known = self._scores.get(request.id)
        if known is not None:
            return _Known(known)
        return self._executor.submit(self._workshop.score, request, draft)

    def _scored(self, name: str, pending: Pending[LowScore]) -> LowScore:
        score = pending.result()
        if name not in self._scores:
            self._scores[name] = self._journal.add(Scored(id=name, score=score)).score
        return score

    def _sampled(self, request: SampleRequest, draft: Draft, score: LowScore) -> SampleAnswer:
        if _by_generator(request):
            self._ledger.sampled(draft.seconds)
        self._ledger.scored(score.seconds)
        return SampleAnswer(
            id=request.id,
            sha=score.sha,
            source=draft.source,
            skeleton=draft.skeleton,
            thought=draft.thought,
            f_lf=score.f_lf,
            failure=score.failure,
        )

    def _try(self, requests: Sequence[TrialRequest]) -> list[Answer]:
        """Solve training instances."""
        if not requests:
            return []
        if not self._workshop.training:
            raise ConfigError("The search makes trials but there are no training instances.")
        until_unix_s = self._workshop.account.until_unix_s
        new = [request for request in requests if request.id not in self._trials]
        if new and until_unix_s is not None and time.time() >= until_unix_s:
            self.ended_by = self.ended_by or out_of_time(self._workshop.account.budget)
            return [TrialAnswer(id=request.id, failure=self.ended_by) for request in requests]
        self._watcher.activity(f"{len(requests)} trials on training instances")
        pending = {request.id: self._executor.submit(self._workshop.try_out, request) for request in new}
        answers: list[Answer] = []
        for request in requests:
            if request.id in pending:
                score = pending[request.id].result()
                self._trials[request.id] = self._journal.add(Tried(request=request, score=score))
            answers.append(self._tried(request, self._trials[request.id].score))
            self._watcher.progress(len(answers), len(requests))
        return answers

    def _tried(self, request: TrialRequest, score: TrialScore) -> TrialAnswer:
        self._ledger.tried(score.cpu_s)
        self.trials.append(
            {
                "id": request.id,
                "sample": request.sample or RPB,
                "costs": " ".join(f"{cost:.6g}" for cost in score.costs or ()),
                "cpu_s": score.cpu_s,
                "failure": score.failure,
                "parameters": json.dumps(request.parameters),
            }
        )
        return TrialAnswer(id=request.id, costs=score.costs, failure=score.failure)

    def _solve(self, requests: Sequence[SolveRequest]) -> list[Answer]:
        """Solve the design instances with the rules that earned it."""
        if not requests:
            return []
        instances = len(self._workshop.design)
        self._watcher.activity(f"solving {instances} instances with {len(requests)} rules")
        pending = {
            request.id: self._executor.submit(self._workshop.solve, request)
            for request in requests
            if request.id not in self._solves
        }
        answers: list[Answer] = []
        for done, request in enumerate(requests, start=1):
            if request.id in pending:
                try:
                    score = pending[request.id].result()
                except OutOfTimeError as end:
                    self.ended_by = self.ended_by or out_of_time(self._workshop.account.budget)
                    answers.append(SolveAnswer(id=request.id, failure=str(end)))
                    continue
                self._solves[request.id] = self._journal.add(Solved(id=request.id, score=score)).score
            score = self.solves[request.id] = self._solves[request.id]
            self._ledger.solved(request.id, score.cpu_s, score.f_hf)
            answers.append(SolveAnswer(id=request.id, f_hf=score.f_hf, failure=score.failure))
            self._watcher.progress(done, len(requests))
        return answers


def _by_generator(request: WrittenRequest) -> bool:
    """Whether a generator is to write it: a search may bring rules along."""
    return isinstance(request, ReflectionRequest) or request.source is None


def _brought_along(request: WrittenRequest) -> Draft:
    """Return the rule a search begins with as if it had been written."""
    source = request.source if isinstance(request, SampleRequest) else None
    return Draft(
        key=request.id,
        generator=_BY_THE_SEARCH,
        model="",
        thought="The rule the search begins with.",
        source=source,
    )
