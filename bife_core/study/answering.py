"""Finding the answers to what a search asks: in the journal, or else by having rules written, scored, solved with."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from bife_core.errors import ConfigError
from bife_core.fidelity.high import HighScore
from bife_core.fidelity.load_correction import Reference
from bife_core.fidelity.low import LowScore
from bife_core.generators import BudgetReachedError, Draft, DraftingStoppedError
from bife_core.generators.account import out_of_time
from bife_core.methods.base import RPB
from bife_core.search import (
    Answer,
    ReflectionRequest,
    Request,
    Sample,
    SampleRequest,
    SearchCost,
    SolveRequest,
    TrialRequest,
    WrittenRequest,
)
from bife_core.solves import OutOfTimeError
from bife_core.study.evaluator import Evaluator, Executor, Pending, UnansweredError
from bife_core.study.journal import (
    Drafted,
    HighScored,
    Journal,
    JournalError,
    Referred,
    Scored,
    Tried,
    Unanswered,
)
from bife_core.study.prompt_context import Past
from bife_core.study.watching import Watcher

T = TypeVar("T")
Asked = TypeVar("Asked", bound=Request)
Written = TypeVar("Written", SampleRequest, ReflectionRequest)

SILENT_REQUESTS: Final = 4
"""Requests in a row that a model API leaves unanswered before a search that was answered earlier stops."""


@dataclass
class Ledger:
    """What the search has cost so far."""

    cost: SearchCost


class Answering:
    """Finds the answers to all requests of one `ask` at once; what is new is in the journal before it is used.

    Parameters
    ----------
    journal : Journal
        What is known already, and where the rest is written down.
    evaluator : Evaluator
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
        self, journal: Journal, evaluator: Evaluator, executor: Executor, ledger: Ledger, watcher: Watcher
    ) -> None:
        self.solves: dict[str, HighScore] = {}
        self.trials: list[dict[str, Any]] = []
        self.ended_by: str | None = None
        self.not_written: set[str] = set()
        self._journal = journal
        self._evaluator = evaluator
        self._executor = executor
        self._ledger = ledger
        self._watcher = watcher
        self._asked = 0
        self._silence = 0
        self._answered = False  # by the model API, in this process
        self._drafts = {e.request.id: e for e in journal.entries if isinstance(e, Drafted)}
        self._scores = {e.id: e.score for e in journal.entries if isinstance(e, Scored)}
        self._trials = {e.request.id: e.score for e in journal.entries if isinstance(e, Tried)}
        self._solves = {e.id: e.score for e in journal.entries if isinstance(e, HighScored)}
        known = (e.reference for e in journal.entries if isinstance(e, Referred))
        self._reference = next(known, None)
        if self._reference is not None:
            ledger.cost = ledger.cost.plus("f_hf", self._reference.cpu_s)

    def answers(self, requests: Sequence[Request], samples: Sequence[Sample] = ()) -> tuple[Answer, ...]:
        """Return the answers in the order of the requests.

        Parameters
        ----------
        samples : sequence of Sample
            What the search had sampled when it made the requests.

        Raises
        ------
        DraftingStoppedError
            If no further rule can be written.
        JournalError
            If the journal has the answer to another request of the same name.
        """
        instances = len(self._evaluator.design)
        past = Past(
            samples=tuple(samples),
            fitted=frozenset(name for name, score in self._scores.items() if score.source is not None),
            costs=tuple(
                self.solves[s.id].costs for s in samples if s.f_hf is not None and s.id in self.solves
            ),
            reference=self._reference,
        )
        self._evaluator = replace(self._evaluator, past=past)
        found = {
            (kind, answer.id): answer
            for kind, answers in (
                (
                    "reflection",
                    self._step(requests, ReflectionRequest, "writing {} reflections", self._reflect),
                ),
                ("sample", self._step(requests, SampleRequest, "sampling {} rules", self._sample)),
                ("trial", self._step(requests, TrialRequest, "{} trials on training instances", self._try)),
                (
                    "solve",
                    self._step(
                        requests, SolveRequest, f"solving {instances} instances with {{}} rules", self._solve
                    ),
                ),
            )
            for answer in answers
        }
        return tuple(found[request.kind, request.id] for request in requests)

    def _step(
        self,
        requests: Sequence[Request],
        kind: type[Asked],
        activity: str,
        answered: Callable[[Sequence[Asked]], Iterator[Answer]],
    ) -> Iterator[Answer]:
        """Yield the answers to the requests of one kind, and say how far it is."""
        asked = [request for request in requests if isinstance(request, kind)]
        if asked:
            self._watcher.activity(activity.format(len(asked)))
            for done, answer in enumerate(answered(asked), start=1):
                yield answer
                self._watcher.progress(done, len(asked))

    def _write(self, requests: Sequence[Written]) -> Iterator[tuple[Written, Draft]]:
        """Have rules or reflections written, all at once, and yield each in order as soon as it is there.

        Those that the model API leaves unanswered come last, as failures, if others are answered.
        """
        begun = {request.id: self._begin(request) for request in requests}
        silent: dict[str, Draft] = {}
        answered = 0
        stopped: DraftingStoppedError | None = None
        for request in requests:
            pending = begun[request.id]
            if pending is None:
                continue
            try:
                draft, score = pending.result()
            except (DraftingStoppedError, BudgetReachedError, UnansweredError) as error:
                if error.draft is not None and error.draft.attempts:
                    self._journal.add(Unanswered(request=request, draft=error.draft, reason=str(error)))
                if isinstance(error, DraftingStoppedError):
                    # The others are waited for all the same: what they cost must not be lost.
                    stopped = error
                elif isinstance(error, BudgetReachedError):
                    self._end(str(error))
                    self.not_written.add(request.id)
                else:
                    silent[request.id] = error.draft
            else:
                answered += self._is_new(request, draft)
                self._drafted(request, draft)
                if score is not None and request.id not in self._scores:
                    self._scores[request.id] = self._journal.add(Scored(id=request.id, score=score)).score
                yield request, draft
        stopped = stopped or self._outage(silent, answered)
        if stopped is not None:
            raise stopped
        for request in requests:
            if request.id in silent and self.ended_by is not None:
                self.not_written.add(request.id)
            elif request.id in silent:
                # The search goes on without this rule, now and whenever it is taken up again.
                yield request, self._drafted(request, silent[request.id])

    def _begin(self, request: WrittenRequest) -> Pending[tuple[Draft, LowScore | None]] | None:
        """Have a draft looked up or written; None where the budget does not allow it."""
        place = self._asked
        self._asked += isinstance(request, SampleRequest) and request.source is None
        known = self._drafts.get(request.id)
        if known is not None:
            if known.request != request:
                raise JournalError(
                    f"The journal in {self._journal.folder} has an answer to another request {request.id} than "
                    "this search makes: it was written by another version of BiFE. Move the folder away to have "
                    "the search made anew."
                )
            return _known((known.draft, None))
        if isinstance(request, SampleRequest):
            if request.source is not None:
                thought = "The rule the search begins with."
                source = request.source
                draft = Draft(key=request.id, generator="search", model="", thought=thought, source=source)
                return _known((draft, None))
            limit = self._evaluator.account.samples
            if limit is not None and place >= limit:
                self._end(f"The run was asked for no more than {limit:,} samples in all.")
        if self.ended_by is not None:
            self.not_written.add(request.id)
            return None
        return self._executor.submit(self._evaluator.write, request)

    def _drafted(self, request: WrittenRequest, draft: Draft) -> Draft:
        if request.id not in self._drafts:
            self._drafts[request.id] = self._journal.add(Drafted(request=request, draft=draft))
        return draft

    def _end(self, reason: str) -> None:
        """Take note which limit of the budget is reached first."""
        self.ended_by = self.ended_by or reason

    def _is_new(self, request: WrittenRequest, draft: Draft) -> bool:
        """Whether a model API gave the draft in this process, and no file of an earlier one."""
        return request.id not in self._drafts and any(not attempt.recorded for attempt in draft.attempts)

    def _outage(self, silent: dict[str, Draft], answered: int) -> DraftingStoppedError | None:
        """Return why the search must stop if the model API does not answer any more, or never did in this process.

        A request that goes unanswered among others that are answered is a failed sample. When none is answered, going
        on would turn an hour without network, or prompts nobody takes, into a search without rules. A single prompt
        that is refused will be refused again, so that stopping for it helps nobody.
        """
        self._answered |= answered > 0
        if answered or not silent or self.ended_by is not None:
            self._silence = 0
            return None
        asked = len(silent)
        self._silence += asked
        refused = all(draft.unanswered == "refused" for draft in silent.values())
        if (self._answered or refused) and self._silence < SILENT_REQUESTS:
            return None
        reason = next(iter(silent.values())).failure
        counted = "the only request" if asked == 1 else f"none of the last {self._silence} requests"
        what = "did not answer" if asked == 1 else "answered"
        return DraftingStoppedError(f"The model API {what} {counted}. {reason} Run again to go on.")

    def _reflect(self, requests: Sequence[ReflectionRequest]) -> Iterator[Answer]:
        """Have reflections written."""
        left = {request.id for request in requests}
        for request, draft in self._write(requests):
            self._ledger.cost = self._ledger.cost.plus("generation", draft.seconds, "reflections")
            left.remove(request.id)
            yield Answer(id=request.id, text=draft.text, failure=draft.failure)
        for name in left:
            yield Answer(id=name, failure=f"Not written: {self.ended_by}")

    def _sample(self, requests: Sequence[SampleRequest]) -> Iterator[Answer]:
        """Have rules written, all at once, and score each as soon as it is there."""
        drafts: dict[str, Draft] = {}
        pending: dict[str, Pending[LowScore]] = {}
        try:
            for request, draft in self._write(requests):
                drafts[request.id] = draft
                known = self._scores.get(request.id)
                pending[request.id] = (
                    _known(known)
                    if known is not None
                    else self._executor.submit(self._evaluator.score, request, draft)
                )
        except DraftingStoppedError:
            for name, scoring in pending.items():
                self._scored(name, scoring)
            raise
        for asked in requests:
            if asked.id not in pending:
                yield Answer(id=asked.id, failure=f"Not written: {self.ended_by}")
                continue
            draft, score = drafts[asked.id], self._scored(asked.id, pending[asked.id])
            if _by_generator(asked):
                self._ledger.cost = self._ledger.cost.plus("generation", draft.seconds, "samples")
            self._ledger.cost = self._ledger.cost.plus("f_lf", score.seconds)
            yield Answer(
                id=asked.id,
                sha=score.sha,
                source=score.source or draft.source,
                thought=draft.thought,
                behaviour=score.behaviour,
                f_lf=score.f_lf,
                failure=score.failure,
            )

    def _scored(self, name: str, pending: Pending[LowScore]) -> LowScore:
        score = pending.result()
        if name not in self._scores:
            self._scores[name] = self._journal.add(Scored(id=name, score=score)).score
        return score

    def _try(self, requests: Sequence[TrialRequest]) -> Iterator[Answer]:
        """Solve training instances."""
        if not self._evaluator.training:
            raise ConfigError("The search makes trials but there are no training instances.")
        account = self._evaluator.account
        new = [request for request in requests if request.id not in self._trials]
        if new and account.until_unix_s is not None and time.time() >= account.until_unix_s:
            self._end(out_of_time(account.budget))
            yield from (Answer(id=request.id, failure=self.ended_by) for request in requests)
            return
        pending = {request.id: self._executor.submit(self._evaluator.try_out, request) for request in new}
        for request in requests:
            if request.id in pending:
                try:
                    entry = Tried(request=request, score=pending[request.id].result())
                except OutOfTimeError as end:
                    self._end(out_of_time(account.budget))
                    yield Answer(id=request.id, failure=str(end))
                    continue
                self._trials[request.id] = self._journal.add(entry).score
            score = self._trials[request.id]
            self._ledger.cost = self._ledger.cost.plus("tuning", score.cpu_s, "trials")
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
            yield Answer(id=request.id, costs=score.costs or (), failure=score.failure)

    def _solve(self, requests: Sequence[SolveRequest]) -> Iterator[Answer]:
        """Solve the design instances with the rules that earned it."""
        new = [request for request in requests if request.id not in self._solves]
        pending: dict[str, Pending[HighScore]] = {}
        try:
            for request in new:
                reference = self._measured_by()
                pending[request.id] = self._executor.submit(self._evaluator.solve, request, reference)
        except OutOfTimeError:
            self._end(out_of_time(self._evaluator.account.budget))
        for request in requests:
            if request.id in pending:
                try:
                    entry = HighScored(id=request.id, score=pending[request.id].result())
                except OutOfTimeError as end:
                    self._end(out_of_time(self._evaluator.account.budget))
                    yield Answer(id=request.id, failure=str(end))
                    continue
                self._solves[request.id] = self._journal.add(entry).score
            if request.id not in self._solves:
                yield Answer(id=request.id, failure=self.ended_by)
                continue
            score = self.solves[request.id] = self._solves[request.id]
            self._ledger.cost = self._ledger.cost.solved_with(request.id, score.cpu_s, score.f_hf)
            yield Answer(
                id=request.id,
                f_hf=score.f_hf,
                eliminated=score.eliminated,
                failure=score.failure,
                costs=score.costs,
            )

    def _measured_by(self) -> Reference:
        """Return RPB's solves of the design instances, made before the first rule is solved with."""
        if self._reference is None:
            reference = self._executor.submit(self._evaluator.refer).result()
            self._reference = self._journal.add(Referred(reference=reference)).reference
            self._ledger.cost = self._ledger.cost.plus("f_hf", reference.cpu_s)
        return self._reference


def _by_generator(request: WrittenRequest) -> bool:
    """Whether it is to be written or fitted: a search may bring rules along."""
    return isinstance(request, ReflectionRequest) or request.source is None


def _known(value: T) -> Pending[T]:
    """Return a result that is there already, as one to come."""
    future: Future[T] = Future()
    future.set_result(value)
    return future
