"""The answers to what a search asks: found among its events, or worked out in threads and stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.pool import AsyncResult, ThreadPool
from threading import Lock
from typing import Any, Final, cast

from bife_core.measure.context import Reference, measure_reference
from bife_core.measure.high import HighScore
from bife_core.measure.solves import OutOfTimeError
from bife_core.run.study.evaluator import Evaluator
from bife_core.run.study.journal import (
    Drafted,
    EntryType,
    HighScored,
    Journal,
    JournalError,
    Referred,
    Scored,
    Tried,
)
from bife_core.run.study.prompt_context import Past
from bife_core.search import (
    Answer,
    BaseSearch,
    ReflectionRequest,
    Request,
    SampleRequest,
    SearchCost,
    SolveRequest,
    TrialRequest,
    WrittenRequest,
)
from bife_core.search.generators import (
    BudgetReachedError,
    Draft,
    DraftingStoppedError,
    NoDraftError,
    Spending,
)
from bife_core.search.generators.account import out_of_time, reached

SILENT_REQUESTS: Final = 4
"""Requests in a row that a model API leaves unanswered before a search that was answered earlier stops."""


class Answering:
    """Answers the requests of a search, and adds up what that cost, whenever it was done."""

    def __init__(self, search: BaseSearch, journal: Journal, cost: SearchCost) -> None:
        self.cost = cost
        self.solves: dict[str, HighScore] = {}
        self.ended_by: str | None = None  # the limit of the budget that is reached
        self.unwritten: set[str] = set()  # requests that have no rule for it
        self.limit: int | None = None  # of rules sampled in all
        self.evaluator: Evaluator  # of the present run
        self._search, self._journal = search, journal
        self._asked = self._silence = 0
        self._answered = False  # by the model API, in this process
        self._lock, self._adding = Lock(), Lock()

    def answers(
        self, requests: Sequence[Request], threads: ThreadPool, progress: Callable[[int, int], object]
    ) -> tuple[Answer, ...]:
        """Return the answers in order, or raise `GeneratorError` if a person must change something first."""
        answered = self.evaluator.account.answered
        self._past = Past(
            samples=self._search.samples,
            scores={entry.id: entry.score for entry in self._journal.of(Scored)},
            reference=found.reference if (found := self._journal.find(Referred)) else None,
            solved={entry.id: entry.score for entry in self._journal.of(HighScored)},
            tau=self._search.summaries[-1].tau if self._search.summaries else None,
        )
        solves = [one.id for one in requests if isinstance(one, SolveRequest)]
        if not all(self._journal.find(HighScored, name) for name in solves):
            with suppress(OutOfTimeError):  # which the threads find too, and end the search by
                self._reference()  # now, so that a failure is not met once by each thread
        pending = [
            threads.apply_async(self._outcome, [one]) if self._may_be_asked(one) else None for one in requests
        ]
        results: list[Answer | NoDraftError] = []
        for request, future in zip(requests, pending, strict=True):
            results.append(self._result(request, future))
            progress(len(results), len(requests))
        # The others were waited for all the same: what they cost must not be lost.
        stop = next((error for error in results if isinstance(error, DraftingStoppedError)), None)
        unwritten = [error for error in results if isinstance(error, NoDraftError)]
        stop = stop or self._outage(unwritten, heard=self.evaluator.account.answered > answered)
        if stop is not None:
            raise stop
        return tuple(
            result if isinstance(result, Answer) else self._given_up(request, result)
            for request, result in zip(requests, results, strict=True)
        )

    def stop(self) -> None:
        """Let the threads begin and store nothing more, for they are not waited for."""
        with self._adding:
            self.evaluator.stopped.set()

    def _may_be_asked(self, request: Request) -> bool:
        """Whether no limit of the budget keeps a request from being answered, as one is that was answered before."""
        sampled = isinstance(request, SampleRequest) and request.source is None
        self._asked += sampled
        if not (sampled or isinstance(request, ReflectionRequest)) or self._journal.find(Drafted, request.id):
            return True
        if sampled and self.limit is not None and self._asked > self.limit:
            why = f"The run was asked for no more than {self.limit:,} samples in all."
            self.ended_by = self.ended_by or why
        budget = self.evaluator.account.budget
        self.ended_by = self.ended_by or reached(budget, Spending(), self.cost.solver_s)
        return self.ended_by is None

    def _result(
        self, request: Request, future: AsyncResult[Answer | BaseException] | None
    ) -> Answer | NoDraftError:
        """Wait for an answer and count what it cost; return why a draft has none now."""
        if future is None:
            return self._not_written(request)
        try:
            if isinstance(answer := future.get(), BaseException):
                raise answer
        except OutOfTimeError:
            self.ended_by = self.ended_by or out_of_time(self.evaluator.account.budget)
            return Answer(id=request.id, failure=self.ended_by)
        except NoDraftError as error:
            if isinstance(error, BudgetReachedError):
                self.ended_by = self.ended_by or str(error)
                return self._not_written(request)
            return error
        self._count(request)
        return answer

    def _not_written(self, request: Request) -> Answer:
        self.unwritten.add(request.id)
        return Answer(id=request.id, failure=f"Not written: {self.ended_by}")

    def _given_up(self, request: Request, error: NoDraftError) -> Answer:
        """Go on without what a model API did not write, now and whenever the search is taken up again."""
        if self.ended_by is not None or error.draft is None:
            return self._not_written(request)
        self._journal.add(Drafted(request=cast(WrittenRequest, request), draft=error.draft))
        answer = self._answer(request)
        self._count(request)
        return answer

    def _outcome(self, request: Request) -> Answer | BaseException:
        """Return the answer, or what to raise where it is waited for: a thread of a pool passes exits on to nobody."""
        try:
            return self._answer(request)
        except BaseException as error:  # noqa: BLE001
            return error

    def _answer(self, request: Request) -> Answer:
        evaluator, name = self.evaluator, request.id
        match request:
            case ReflectionRequest():
                draft = self._draft(request)
                return Answer(id=name, text=draft.text, failure=draft.failure)
            case SampleRequest():
                draft = self._draft(request)
                scored = self._once(Scored, name, lambda: evaluator.score(request, draft), id=name)
                known = scored.score.model_dump(include={"sha", "behaviour", "f_lf", "failure"})
                return Answer(
                    id=name, source=scored.score.source or draft.source, thought=draft.thought, **known
                )
            case TrialRequest():
                tried = self._once(Tried, name, lambda: evaluator.try_out(request), request=request)
                return Answer(id=name, costs=tried.score.costs, failure=tried.score.failure)
            case SolveRequest():
                measure = partial(evaluator.solve, request)
                solved = self._once(HighScored, name, lambda: measure(self._reference()), id=name)
                known = solved.score.model_dump(include={"f_hf", "eliminated", "failure", "costs"})
                return Answer(id=name, **known)

    def _draft(self, request: WrittenRequest) -> Draft:
        """Return what was written for a request, or have it written."""
        entry, score = self._journal.find(Drafted, request.id), None
        if entry is None:
            draft, score = self.evaluator.write(request, self._past)
            entry = self._add(Drafted(request=request, draft=draft))
        elif entry.request != request:
            raise JournalError(
                f"The journal in {self._journal.folder} has an answer to another request {request.id} than this search "
                "makes: it was written by another version of BiFE. Move the folder away to have the search made anew."
            )
        if score is not None:
            self._once(Scored, request.id, lambda: score, id=request.id)
        return entry.draft

    def _reference(self) -> Reference:
        """Return RPB's solves of the design instances, made before the first rule is evaluated in the solver."""
        with self._lock:
            found = self._journal.find(Referred)
            if found is None:
                measured = measure_reference(self.evaluator.design, self.evaluator.solving)
                found = self._add(Referred(reference=measured))
            return found.reference

    def _once(
        self, kind: type[EntryType], subject: str, measure: Callable[[], object], **about: Any
    ) -> EntryType:
        """Return the stored event of a kind on a subject, or measure its score and store it."""
        found = self._journal.find(kind, subject)
        return found or self._add(kind.model_validate({"score": measure(), **about}))

    def _add(self, entry: EntryType) -> EntryType:
        """Store an event, unless the run was stopped meanwhile: another one may be under way."""
        with self._adding:
            if self.evaluator.stopped.is_set():
                raise OutOfTimeError("The run of the study was stopped.")
            return self._journal.add(entry)

    def _outage(self, errors: Sequence[NoDraftError], *, heard: bool) -> DraftingStoppedError | None:
        """Return why the search must stop if the model API does not answer any more, or never did in this process.

        A request that goes unanswered among others that are answered is a failed sample; so is one that is refused.
        """
        self._answered |= heard
        if heard or not errors or self.ended_by is not None:
            self._silence = 0
            return None
        self._silence += len(errors)
        refused = all(error.draft and error.draft.unanswered == "refused" for error in errors)
        if self._silence < SILENT_REQUESTS and (self._answered or refused):
            return None
        return DraftingStoppedError(
            f"The model API answered none of the last {self._silence} requests. {errors[0]} Run again to go on."
        )

    def _count(self, request: Request) -> None:
        """Add what an answer cost, whenever that was."""
        cost, name, stored = self.cost, request.id, self._journal.stored
        match request:
            case ReflectionRequest():
                cost = cost.plus("generation", stored(Drafted, name).draft.seconds, "reflections")
            case SampleRequest():
                if request.source is None:
                    cost = cost.plus("generation", stored(Drafted, name).draft.seconds, "samples")
                cost = cost.plus("f_lf", stored(Scored, name).score.seconds)
            case TrialRequest():
                cost = cost.plus("tuning", stored(Tried, name).score.cpu_s, "trials")
            case SolveRequest():
                if not self.solves:
                    cost = cost.plus("f_hf", stored(Referred).reference.cpu_s)
                score = self.solves[name] = stored(HighScored, name).score
                cost = cost.solved_with(name, score.cpu_s, score.f_hf)
        self.cost = cost
