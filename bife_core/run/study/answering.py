"""The answers to what a search asks: found among its events, or worked out in threads and stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.pool import AsyncResult, ThreadPool
from threading import Lock
from typing import Final

from bife_core.measure.context import Reference, measure_reference
from bife_core.measure.high import HighScore, score_high
from bife_core.measure.low import LowScore
from bife_core.measure.solves import OutOfTimeError
from bife_core.run.study.evaluator import Evaluator
from bife_core.run.study.journal import EntryType, Journal, Referred
from bife_core.run.study.prompt_context import Past
from bife_core.search import (
    BaseSearch,
    Draft,
    ReflectionRequest,
    Request,
    SampleRequest,
    SearchCost,
    SolveRequest,
    TrialRequest,
)
from bife_core.search.answers import Answered
from bife_core.search.generators import (
    BudgetReachedError,
    DraftingStoppedError,
    NoDraftError,
    Spending,
)
from bife_core.search.generators.account import out_of_time, reached
from bife_core.solver.methods.loading import method_of

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
    ) -> tuple[Answered, ...]:
        """Return the answers in order, or raise `GeneratorError` if a person must change something first."""
        journal, answered = self._journal, self.evaluator.account.answered
        referred, summaries = journal.find(Referred), self._search.summaries
        samples, solves = journal.answers("sample"), journal.answers("solve")
        self._past = Past(
            samples=self._search.samples,
            scores={name: answer.low for name, answer in samples.items() if answer.low},
            reference=referred.reference if referred else None,
            solved={name: answer.high for name, answer in solves.items() if answer.high},
            tau=summaries[-1].tau if summaries else None,
        )
        if any(isinstance(request, SolveRequest) and not journal.answer(request) for request in requests):
            with suppress(OutOfTimeError):  # which the threads find too, and end the search by
                self._reference()  # now, so that a failure is not met once by each thread
        pending = [
            threads.apply_async(self._outcome, [request]) if self._may_be_asked(request) else None
            for request in requests
        ]
        results: list[Answered | NoDraftError] = []
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
            result if isinstance(result, Answered) else self._given_up(request, result)
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
        if not (sampled or isinstance(request, ReflectionRequest)) or self._journal.answer(request):
            return True
        if sampled and self.limit is not None and self._asked > self.limit:
            why = f"The run was asked for no more than {self.limit:,} samples in all."
            self.ended_by = self.ended_by or why
        budget = self.evaluator.account.budget
        self.ended_by = self.ended_by or reached(budget, Spending(), self.cost.solver_s)
        return self.ended_by is None

    def _result(
        self, request: Request, future: AsyncResult[Answered | BaseException] | None
    ) -> Answered | NoDraftError:
        """Wait for an answer and count what it cost; return why a draft has none now."""
        if future is None:
            return self._not_written(request)
        try:
            if isinstance(answer := future.get(), BaseException):
                raise answer
        except OutOfTimeError:
            self.ended_by = self.ended_by or out_of_time(self.evaluator.account.budget)
            return Answered(request=request, high=HighScore(failure=self.ended_by))
        except NoDraftError as error:
            if isinstance(error, BudgetReachedError):
                self.ended_by = self.ended_by or str(error)
                return self._not_written(request)
            return error
        self._count(answer)
        return answer

    def _not_written(self, request: Request) -> Answered:
        self.unwritten.add(request.id)
        return Answered(request=request, draft=Draft(failure=f"Not written: {self.ended_by}"))

    def _given_up(self, request: Request, error: NoDraftError) -> Answered:
        """Go on without what a model API did not write, now and whenever the search is taken up again."""
        if self.ended_by is not None or error.draft is None:
            return self._not_written(request)
        self._journal.add(Answered(request=request, draft=error.draft))
        answer = self._answer(request)
        self._count(answer)
        return answer

    def _outcome(self, request: Request) -> Answered | BaseException:
        """Return the answer, or what to raise where it is waited for: a thread of a pool passes exits on to nobody."""
        try:
            return self._answer(request)
        except BaseException as error:  # noqa: BLE001
            return error

    def _answer(self, request: Request) -> Answered:
        """Return what is stored of a request, once what it lacks is worked out and stored."""
        evaluator, answer = self.evaluator, self._journal.answer(request)
        match request:
            case TrialRequest():
                return answer or self._add(Answered(request=request, high=evaluator.try_out(request)))
            case SolveRequest():
                if answer is None:
                    rule = method_of(request.sample.source or "", request.id)
                    high = score_high(
                        rule,
                        evaluator.design,
                        evaluator.solving,
                        reference=self._reference(),
                        to_beat=request.to_beat,
                        best=request.best,
                    )
                    answer = self._add(Answered(request=request, high=high))
                return answer
        answer = answer or self._add(evaluator.write(request, self._past))
        if isinstance(request, SampleRequest) and answer.low is None:
            low = evaluator.score(request, answer.draft or Draft())
            answer = self._add(answer.model_copy(update={"low": low}))
        return answer

    def _reference(self) -> Reference:
        """Return RPB's solves of the design instances, made before the first rule is evaluated in the solver."""
        with self._lock:
            referred = self._journal.find(Referred)
            if referred is None:
                measured = measure_reference(self.evaluator.design, self.evaluator.solving)
                referred = self._add(Referred(reference=measured))
            return referred.reference

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

    def _count(self, answer: Answered) -> None:
        """Add what an answer cost, whenever that was."""
        cost, request = self.cost, answer.request
        draft, low, high = answer.draft or Draft(), answer.low or LowScore(), answer.high or HighScore()
        match request:
            case ReflectionRequest():
                cost = cost.plus("generation", draft.seconds, "reflections")
            case SampleRequest():
                if request.source is None:
                    cost = cost.plus("generation", draft.seconds, "samples")
                cost = cost.plus("f_lf", low.seconds)
            case TrialRequest():
                cost = cost.plus("tuning", high.cpu_s, "trials")
            case SolveRequest():
                if not self.solves:
                    cost = cost.plus("f_hf", self._journal.stored(Referred).reference.cpu_s)
                self.solves[request.id] = high
                cost = cost.solved_with(request.id, high.cpu_s, high.f_hf)
        self.cost = cost
