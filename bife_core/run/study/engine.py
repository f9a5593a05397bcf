"""The engine of a study: it asks the search, has the answers worked out, and stores what comes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from multiprocessing.pool import AsyncResult, ThreadPool
from pathlib import Path
from threading import Lock
from typing import Any, Final

from bife_core.base.errors import BifeError
from bife_core.base.values import Value
from bife_core.measure.context import Reference, measure_reference
from bife_core.measure.high import HighScore, high_fidelity, score_high
from bife_core.measure.low import LowScore
from bife_core.measure.solves import OutOfTimeError
from bife_core.run.observer import Observer, SearchState
from bife_core.run.study import files
from bife_core.run.study.evaluator import Evaluator
from bife_core.run.study.journal import Completed, Ended, EntryType, Finalised, Journal, Referred
from bife_core.run.study.prompt_context import Past
from bife_core.search import (
    BaseSearch,
    Draft,
    GenerationSummary,
    ReflectionRequest,
    Request,
    Sample,
    SampleRequest,
    SearchCost,
    SolveRequest,
    TrialRequest,
)
from bife_core.search.answers import Answered
from bife_core.search.config import SearchConfig
from bife_core.search.generators import BudgetReachedError, DraftingStoppedError, NoDraftError, Spending
from bife_core.search.generators.account import out_of_time, reached, used_shares
from bife_core.solver.methods.references import method_of
from bife_core.solver.scip.solve import SolveResult, cautions, contradictions

SILENT_REQUESTS: Final = 4
"""Requests in a row that a model API leaves unanswered before a search that was answered earlier stops."""

CONCURRENT_WORK: Final = 16
"""Requests that are answered at once, or a generator's `concurrency` if that is more; solves wait for a core."""

_ACTIVITIES: Final = {
    ReflectionRequest: "writing {} reflections",
    SampleRequest: "sampling {} rules",
    TrialRequest: "{} trials on training instances",
    SolveRequest: "solving {instances} instances with {} rules",
}


class SearchOutcome(Value):
    """The outcome of a search, earlier runs included.

    Attributes
    ----------
    folder : Path
        Where its files lie: rules, samples.json, search_cost.json, figures, and best_rule.py, the newest best rule.
    best : Sample or None
        The rule the search ended with, by the fidelity it goes by.
    samples, generations : tuple
        All rules sampled, and the summaries of completed generations, in order.
    best_solves : tuple of SolveResult
        The best rule's solves of the design instances.
    references : dict
        F_HF of RPB, and of others that are shown beside it, by name.
    spending, cost : Spending, SearchCost
        What calls to a model API cost, and rule-design time by what it went on.
    ended_by : str or None
        Which limit of the budget ended the search before its last sample, as a sentence.
    seconds : float
        Wall seconds that the search ran in this process.
    mismatches, notes : tuple of str
        Sentences on instances of which two rules proved different things, and on what scores leave out.
    """

    folder: Path
    best: Sample | None
    samples: tuple[Sample, ...]
    generations: tuple[GenerationSummary, ...]
    best_solves: tuple[SolveResult, ...]
    references: dict[str, float] = {}  # noqa: RUF012 - pydantic copies it
    spending: Spending
    cost: SearchCost
    ended_by: str | None = None
    seconds: float
    mismatches: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def failures(self) -> int:
        """Samples that gave no valid rule."""
        return sum(not sample.valid for sample in self.samples)

    @property
    def best_rule(self) -> Path | None:
        """File of the best rule, once the search has ended; it never changes, whatever a longer search finds."""
        return None if self.best is None else _file_of(self.best, self.folder)

    @property
    def sentence(self) -> str:
        """How much came of it so far."""
        return f"{len(self.samples)} rules sampled, {self.failures} of them of no use."


def _file_of(best: Sample, folder: Path) -> Path:
    return files.rule_file(folder, method_of(best.source or "", best.id))


class Engine:
    """Runs a new search from where its events end: it asks, has the answers found or worked out, and tells them.

    Recording decisions took `collection_s` CPU seconds.
    """

    def __init__(
        self, search: BaseSearch, config: SearchConfig, journal: Journal, collection_s: float = 0.0
    ) -> None:
        self.paused = False
        self._search, self._journal, self._budget = search, journal, config.samples
        self._cost = SearchCost(search=config.algorithm, collection_s=collection_s)
        self._solves: dict[str, HighScore] = {}
        self._ended_by: str | None = None  # the limit of the budget that is reached
        self._unwritten: set[str] = set()  # requests that have no rule for it
        self._reported = self._samples_asked = self._silence = 0
        self._answered = False  # by the model API, in this process
        self._lock, self._adding = Lock(), Lock()
        self._before_s, self._busy_s = journal.elapsed_s, 0.0

    def run(
        self,
        evaluator: Evaluator,
        observer: Observer,
        on_generation: Callable[[SearchState], object],
        generations: int | None = None,
        limit: int | None = None,
    ) -> SearchOutcome:
        """Run to the end, or to a limit: of the budget, of new generations, or of rules sampled in all.

        `on_generation` is called once a generation is stored, and on taking a search up for those of earlier runs.
        Raises `GeneratorError` if no further rule can be written until a person changes something.
        """
        self._evaluator, self._observer, self._on_generation = evaluator, observer, on_generation
        self._limit, self.paused = limit, False
        self._threads = ThreadPool(max(CONCURRENT_WORK, getattr(evaluator.generator, "concurrency", 0)))
        try:
            if self._journal.end(self._budget) is None:
                self._journal.start()
            self._go_on(generations)
            return self._outcome()
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

    def _go_on(self, generations: int | None) -> None:
        new = 0
        requests = self._search.ask()
        while requests:
            asked_s = self._journal.elapsed_s
            for kind, activity in _ACTIVITIES.items():
                if count := sum(isinstance(request, kind) for request in requests):
                    self._observer.activity(activity.format(count, instances=len(self._evaluator.design)))
            answers = self._answers(requests)
            self._busy_s += self._journal.elapsed_s - asked_s
            if self._unwritten.issuperset(request.id for request in requests):
                return
            self._search.tell(answers)
            requests = self._search.ask()
            if self._ended_by is not None:
                # What is written is evaluated in the solver; the generation stays open, to be completed another day.
                if not any(isinstance(request, SolveRequest | TrialRequest) for request in requests):
                    return
                continue
            new += self._complete(requests)
            self.paused = generations is not None and new >= generations and bool(requests)
            if self.paused:
                return

    def _complete(self, requests: Sequence[Request]) -> int:
        """Store the generations that are complete, now that `requests` are asked, and return how many are new."""
        waiting = {request.id for request in requests if isinstance(request, SolveRequest)}
        waiting |= {request.sample or "" for request in requests if isinstance(request, TrialRequest)}
        self._finalise(sample for sample in self._search.samples if sample.id not in waiting)
        stored = {entry.summary.generation: entry for entry in self._journal.of(Completed)}
        new = 0
        for summary in self._search.summaries[self._reported :]:
            self._reported += 1
            completed = stored.get(summary.generation)
            if completed is None:
                files.write_samples(self._journal.folder, self._search.samples)
                new += 1
            entry = completed or self._journal.add(self._completion(summary))
            self._on_generation(self._state(entry, replayed=completed is not None))
        return new

    def _finalise(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            if not self._journal.find(Finalised, sample.id):
                self._journal.add(Finalised(sample=sample))

    def _completion(self, summary: GenerationSummary) -> Completed:
        solved = [sample.f_hf for sample in self._search.samples if sample.f_hf is not None]
        account, solver_s = self._evaluator.account, self._cost.solver_s
        spending, elapsed_s = account.spending(), self._journal.elapsed_s
        return Completed(
            summary=summary,
            spending=spending,
            mean_f_hf=sum(solved) / len(solved) if solved else None,
            solved=len(solved),
            solve_cpu_s=sum(score.cpu_s for score in self._solves.values()),
            budget_used=used_shares(account.budget, spending, solver_s, elapsed_s),
        )

    def _state(self, entry: Completed, *, replayed: bool) -> SearchState:
        samples, sampled = self._search.samples, entry.summary.samples_total
        return SearchState(
            **dict(entry.summary),
            replayed=replayed,
            budget=self._budget,
            eliminated=sum(sample.eliminated is not None for sample in samples),
            last_failure=next((sample.failure for sample in reversed(samples) if sample.failure), None),
            references=self._references(),
            spending=entry.spending,
            elapsed_s=entry.elapsed_s,
            remaining_s=entry.elapsed_s * max(self._budget - sampled, 0) / max(sampled, 1),
            rules=samples,
            curve=self._cost.curve,
            budget_used=entry.budget_used,
        )

    def _references(self) -> dict[str, float]:
        entry = self._journal.find(Referred)
        results = [] if entry is None else [result for result in entry.reference.results if result]
        rpb = {"RPB": high_fidelity(results, self._evaluator.config.high)} if results else {}
        return rpb | dict(self._evaluator.beside)

    def _outcome(self) -> SearchOutcome:
        """Return what the search found; unless it only pauses, write that down."""
        folder, solves, scores = self._journal.folder, self._solves, self._solves.values()
        samples = tuple(sample for sample in self._search.samples if sample.id not in self._unwritten)
        best, ended = self._search.best, self._journal.end(self._budget)
        summaries = self._search.summaries[: max(self._reported, 1)]
        former, notes = self._journal.find(Ended), [note for score in scores for note in score.notes]
        wall_s, spending = self._journal.elapsed_s - self._before_s, self._evaluator.account.spending()
        # The cost on record is that of the run which ended the search, not of one that only found it ended.
        totals: dict[str, Any] = {"wall_s": wall_s, "other_s": wall_s - self._busy_s}
        totals |= {"tokens": spending.tokens, "usd": spending.cost_usd}
        cost = ended.cost if ended is not None else self._cost.model_copy(update=totals)
        if not self.paused and (ended is None or not (folder / files.COST).is_file()):
            self._journal.store.require_claims(self._journal.key)
            files.write_outcome(folder, best, samples, summaries, cost)
        if not self.paused and ended is None:
            # Of a generation that a limit left open, what was solved with is final; the best rule is among it.
            self._finalise(sample for sample in samples if sample.f_hf is not None)
            end = Ended(best=best, cost=cost, samples=self._budget, ended_by=self._ended_by)
            self._journal.add(end)
            if best and former and former.best and former.best.sha != best.sha:
                notes.append(
                    f"The best rule is {best.id} now ({_file_of(best, folder)}) and was {former.best.id} before, "
                    f"whose file stays as it is ({_file_of(former.best, folder)}); compare them on held-out "
                    "instances before one replaces the other."
                )
        measured = [solve for score in scores for solve in score.results]
        return SearchOutcome(
            folder=folder,
            best=best,
            samples=samples,
            generations=tuple(summaries),
            best_solves=solves[best.id].results if best and best.id in solves else (),
            references=self._references(),
            spending=spending,
            cost=cost,
            ended_by=self._ended_by,
            seconds=wall_s,
            mismatches=contradictions(measured),
            notes=tuple(dict.fromkeys([*notes, *cautions(measured)])),
        )

    def _answers(self, requests: Sequence[Request]) -> tuple[Answered, ...]:
        """Return the answers in order, or raise `GeneratorError` if a person must change something first."""
        journal, answered = self._journal, self._evaluator.account.answered
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
            self._threads.apply_async(self._tried, [request]) if self._may_be_asked(request) else None
            for request in requests
        ]
        results: list[Answered | NoDraftError] = []
        for request, future in zip(requests, pending, strict=True):
            results.append(self._result(request, future))
            self._observer.progress(len(results), len(requests))
        # The others were waited for all the same: what they cost must not be lost.
        stop = next((error for error in results if isinstance(error, DraftingStoppedError)), None)
        unwritten = [error for error in results if isinstance(error, NoDraftError)]
        stop = stop or self._outage(unwritten, heard=self._evaluator.account.answered > answered)
        if stop is not None:
            raise stop
        return tuple(
            result if isinstance(result, Answered) else self._given_up(request, result)
            for request, result in zip(requests, results, strict=True)
        )

    def _may_be_asked(self, request: Request) -> bool:
        """Whether no limit of the budget keeps a request from being answered, as one is that was answered before."""
        sampled = isinstance(request, SampleRequest) and request.source is None
        self._samples_asked += sampled
        if not (sampled or isinstance(request, ReflectionRequest)) or self._journal.answer(request):
            return True
        if sampled and self._limit is not None and self._samples_asked > self._limit:
            why = f"The run was asked for no more than {self._limit:,} samples in all."
            self._ended_by = self._ended_by or why
        budget = self._evaluator.account.budget
        self._ended_by = self._ended_by or reached(budget, Spending(), self._cost.solver_s)
        return self._ended_by is None

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
            self._ended_by = self._ended_by or out_of_time(self._evaluator.account.budget)
            return Answered(request=request, high=HighScore(failure=self._ended_by))
        except NoDraftError as error:
            if isinstance(error, BudgetReachedError):
                self._ended_by = self._ended_by or str(error)
                return self._not_written(request)
            return error
        self._count(answer)
        return answer

    def _not_written(self, request: Request) -> Answered:
        self._unwritten.add(request.id)
        return Answered(request=request, draft=Draft(failure=f"Not written: {self._ended_by}"))

    def _given_up(self, request: Request, error: NoDraftError) -> Answered:
        """Go on without what a model API did not write, now and whenever the search is taken up again."""
        if self._ended_by is not None or error.draft is None:
            return self._not_written(request)
        self._journal.add(Answered(request=request, draft=error.draft))
        answer = self._answer(request)
        self._count(answer)
        return answer

    def _tried(self, request: Request) -> Answered | BaseException:
        """Return the answer, or what to raise where it is waited for: a thread of a pool passes exits on to nobody."""
        try:
            return self._answer(request)
        except BaseException as error:  # noqa: BLE001
            return error

    def _answer(self, request: Request) -> Answered:
        """Return what is stored of a request, once what it lacks is worked out and stored."""
        evaluator, answer = self._evaluator, self._journal.answer(request)
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
                measured = measure_reference(self._evaluator.design, self._evaluator.solving)
                referred = self._add(Referred(reference=measured))
            return referred.reference

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
        if heard or not errors or self._ended_by is not None:
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
        cost, request = self._cost, answer.request
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
                if not self._solves:
                    cost = cost.plus("f_hf", self._journal.stored(Referred).reference.cpu_s)
                self._solves[request.id] = high
                cost = cost.solved_with(request.id, high.cpu_s, high.f_hf)
        self._cost = cost
