"""How the requests of a search are answered: at once, by what is stored of them, and within the budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.pool import AsyncResult, ThreadPool
from threading import Lock
from typing import Final

from bife_core.base.errors import BifeError
from bife_core.base.wording import counted
from bife_core.measure.context import measure_reference
from bife_core.measure.high import HighScore
from bife_core.measure.solves import OutOfTimeError
from bife_core.run.observer import Observer
from bife_core.run.study.evaluator import Evaluator
from bife_core.run.study.journal import EntryType, Journal, Referred
from bife_core.run.study.prompt_context import Past
from bife_core.search import BaseSearch, Draft, ReflectionRequest, Request, SampleRequest, SearchCost
from bife_core.search.answers import Answered
from bife_core.search.generators import BudgetReachedError, DraftingStoppedError, NoDraftError, Spending
from bife_core.search.generators.account import out_of_time, reached

SILENT_REQUESTS: Final = 4
"""Requests in a row that a model API leaves unanswered before a search that was answered earlier stops."""

CONCURRENT_WORK: Final = 16
"""Requests that are answered at once, or a generator's `concurrency` if that is more; solves wait for a core."""


class Answering:
    """Has the requests of a search answered, and stores the answers.

    `cost` is what all answers cost, whenever that was, and `busy_s` for how many wall seconds they were waited for.
    `ended_by` is the limit of the budget that is reached, as a sentence, for which `unwritten` requests have no rule.
    """

    def __init__(self, journal: Journal, cost: SearchCost) -> None:
        self.cost, self.busy_s = cost, 0.0
        self.ended_by: str | None = None
        self.unwritten: set[str] = set()
        self._journal = journal
        self._samples_asked = self._silence = 0
        self._answered = False  # by the model API, in this process
        self._adding = Lock()

    @contextmanager
    def by(self, evaluator: Evaluator, observer: Observer, limit: int | None) -> Iterator[None]:
        """Have an evaluator answer inside, and `limit` rules sampled in all; an error is stored as why it stops."""
        self._evaluator, self._observer, self._limit = evaluator, observer, limit
        self._threads = ThreadPool(max(CONCURRENT_WORK, getattr(evaluator.generator, "concurrency", 0)))
        try:
            yield
        except BaseException as error:
            self._stop(error)
            raise
        finally:
            self._threads.terminate()

    def _stop(self, error: BaseException) -> None:
        """Store why the run ends; but for a person, who waits, what the threads are at is completed first."""
        by_person, reason = not isinstance(error, Exception), str(error) or type(error).__name__
        if by_person:
            with self._adding:
                self._evaluator.stopped.set()  # the threads, which are not waited for, store nothing more
            reason = "Interrupted; the next run goes on."
        else:
            self._threads.terminate()
            self._threads.join()
        if self._journal.started:
            with suppress(OSError, BifeError):  # a full disk may be the reason
                self._journal.stop(reason, by_person=by_person)

    def answers(self, requests: Sequence[Request], search: BaseSearch) -> tuple[Answered, ...]:
        """Return the answers in order, or raise `GeneratorError` if a person must change something first."""
        began_s, account = self._journal.elapsed_s, self._evaluator.account
        for activity, count in Counter(request.activity for request in requests).items():
            self._observer.activity(
                activity.format(
                    count=count, rules=counted(count, "rule"), instances=len(self._evaluator.design)
                )
            )
        self._past, answered = self._past_of(search, requests), account.answered
        pending = [
            self._threads.apply_async(self._tried, [request]) if self._may_be_asked(request) else None
            for request in requests
        ]
        results: list[Answered | NoDraftError] = []
        for request, future in zip(requests, pending, strict=True):
            results.append(self._result(request, future))
            self._observer.progress(len(results), len(requests))
        # The others were waited for all the same: what they cost must not be lost.
        stop = next((error for error in results if isinstance(error, DraftingStoppedError)), None)
        errors = [error for error in results if isinstance(error, NoDraftError)]
        stop = stop or self._outage(errors, heard=account.answered > answered)
        if stop is not None:
            raise stop
        answers = tuple(
            result if isinstance(result, Answered) else self._given_up(request, result)
            for request, result in zip(requests, results, strict=True)
        )
        self.busy_s += self._journal.elapsed_s - began_s
        return answers

    def _past_of(self, search: BaseSearch, requests: Sequence[Request]) -> Past:
        """Return what is found out by now; RPB's solves are made first where requests need them."""
        journal, evaluator = self._journal, self._evaluator
        if journal.reference is None and any(request.after_rpb for request in requests):
            with suppress(OutOfTimeError):  # which the threads find too, and end the search by
                self._add(Referred(reference=measure_reference(evaluator.design, evaluator.solving)))
        return Past(
            samples=search.samples,
            scores=journal.scored,
            reference=journal.reference,
            solved=journal.solved,
            tau=search.summaries[-1].tau if search.summaries else None,
        )

    def _may_be_asked(self, request: Request) -> bool:
        """Whether no limit of the budget keeps a request from being answered, as one is that was answered before."""
        sampled = isinstance(request, SampleRequest) and request.source is None
        self._samples_asked += sampled
        if not (sampled or isinstance(request, ReflectionRequest)) or self._journal.answer(request):
            return True
        if sampled and self._limit is not None and self._samples_asked > self._limit:
            why = f"The run was asked for no more than {self._limit:,} samples in all."
            self.ended_by = self.ended_by or why
        budget = self._evaluator.account.budget
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
            self.ended_by = self.ended_by or out_of_time(self._evaluator.account.budget)
            return Answered(request=request, high=HighScore(failure=self.ended_by))
        except NoDraftError as error:
            if isinstance(error, BudgetReachedError):
                self.ended_by = self.ended_by or str(error)
                return self._not_written(request)
            return error
        return self._charged(answer)

    def _charged(self, answer: Answered) -> Answered:
        reference = self._past.reference
        if answer.request.after_rpb and reference is not None and not self.cost.f_hf_s:
            self.cost = self.cost.plus(f_hf=reference.cpu_s)
        self.cost = answer.charged(self.cost)
        return answer

    def _not_written(self, request: Request) -> Answered:
        self.unwritten.add(request.id)
        return Answered(request=request, draft=Draft(failure=f"Not written: {self.ended_by}"))

    def _given_up(self, request: Request, error: NoDraftError) -> Answered:
        """Go on without what a model API did not write, now and whenever the search is taken up again."""
        if self.ended_by is not None or error.draft is None:
            return self._not_written(request)
        self._journal.add(Answered(request=request, draft=error.draft))
        return self._charged(self._answer(request))

    def _tried(self, request: Request) -> Answered | BaseException:
        """Return the answer, or what to raise where it is waited for: a thread of a pool passes exits on to nobody."""
        try:
            return self._answer(request)
        except BaseException as error:  # noqa: BLE001
            return error

    def _answer(self, request: Request) -> Answered:
        """Return what is stored of a request, once what it lacks is worked out and stored."""
        stored = self._journal.answer(request)
        for answer in self._evaluator.work(request, stored, self._past):
            stored = self._add(answer)
        assert stored is not None  # an evaluator works out what nothing is stored of
        return stored

    def _add(self, entry: EntryType) -> EntryType:
        """Store an event, unless the run was stopped meanwhile: another one may be under way."""
        with self._adding:
            if self._evaluator.stopped.is_set():
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
