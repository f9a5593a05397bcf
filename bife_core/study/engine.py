"""The engine of a study: it asks the search, finds or computes the answers, and stores them (Algorithm 1)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final, cast

from bife_core.agreement import contradictions
from bife_core.fidelity.high import HighScore
from bife_core.fidelity.solving import Reference
from bife_core.generators import BudgetReachedError, Draft, DraftingStoppedError, NoDraftError, Spending
from bife_core.generators.account import out_of_time, reached, used_shares
from bife_core.scip.solving import SolveResult
from bife_core.search import (
    Answer,
    CostPoint,
    GenerationSummary,
    ReflectionRequest,
    Request,
    Sample,
    SampleRequest,
    Search,
    SearchCost,
    SolveRequest,
    TrialRequest,
    WrittenRequest,
)
from bife_core.search.config import SearchConfig
from bife_core.solves import OutOfTimeError
from bife_core.store import StoreError
from bife_core.study import files
from bife_core.study.evaluator import Evaluator, UnansweredError
from bife_core.study.journal import (
    Completed,
    Drafted,
    Ended,
    Entry,
    EntryType,
    Finalised,
    HighScored,
    Journal,
    JournalError,
    Referred,
    Scored,
    Stopped,
    Tried,
    Unanswered,
)
from bife_core.study.prompt_context import Past
from bife_core.values import Value

CONCURRENT_WORK: Final = 16
"""Requests that are answered at once, of a model API above all; solves wait for a core whatever this is."""

SILENT_REQUESTS: Final = 4
"""Requests in a row that a model API leaves unanswered before a search that was answered earlier stops."""

_ACTIVITIES: Final = {
    ReflectionRequest: "writing {} reflections",
    SampleRequest: "sampling {} rules",
    TrialRequest: "{} trials on training instances",
    SolveRequest: "solving {instances} instances with {} rules",
}


class Evolution(Value):
    """The outcome of a search.

    Attributes
    ----------
    folder : Path
        Where its files lie: best_rule.py, samples.json, search_cost.json, figures.
    best : Sample or None
        The rule the search ended with, by the fidelity it goes by; None if there is none.
    samples, generations : tuple
        All rules sampled, and the summaries of completed generations, in order.
    best_solves : tuple of SolveResult
        The best rule's solves of the design instances.
    spending, cost : Spending, SearchCost
        What calls to a model API cost, and rule-design time by what it went on, earlier runs included.
    ended_by : str or None
        Which limit of the budget ended the search before its last sample, as a sentence.
    seconds : float
        Wall seconds of this run of it.
    mismatches, notes : tuple of str
        Sentences on instances of which two rules proved different things, and on what scores leave out.
    """

    folder: Path
    best: Sample | None
    samples: tuple[Sample, ...]
    generations: tuple[GenerationSummary, ...]
    best_solves: tuple[SolveResult, ...]
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


class EvolutionState(GenerationSummary):
    """Where an evolution stands after a generation.

    Of `budget` rules to be sampled some were `eliminated` by racing. `last_failure` is why the latest failed sample is
    none; `remaining_s` is a guess. `curve` is the best F_HF against what had been spent, and `budget_used` says which
    share of each limit of the budget is used.
    """

    budget: int
    eliminated: int = 0
    last_failure: str | None = None
    spending: Spending
    elapsed_s: float
    remaining_s: float
    rules: tuple[Sample, ...] = ()
    curve: tuple[CostPoint, ...] = ()
    budget_used: dict[str, float] = {}  # noqa: RUF012 - pydantic copies it

    @property
    def sentence(self) -> str:
        """How far the search is, in short."""
        best = "" if self.best_f_hf is None else f", best F_HF {self.best_f_hf:.4g}"
        return f"Generation {self.generation}: {self.samples_total} of {self.budget} rules sampled{best}"


class Watcher:
    """Shows what happens; this one shows nothing. It must not raise and should return at once."""

    def activity(self, text: str) -> None:
        """Show what is being done, such as "solving with 3 rules"."""

    def progress(self, done: int, total: int) -> None:
        """Show how far that is."""

    def generation(self, state: EvolutionState) -> None:
        """Show that a generation is complete."""


class Engine:
    """Runs a new search from where its events end; it can pause and go on.

    `collection_s` are CPU seconds that recording the decisions took; 0 for a search that reads none.
    """

    def __init__(
        self, search: Search, config: SearchConfig, journal: Journal, collection_s: float = 0.0
    ) -> None:
        self.paused = False
        self._search, self._journal, self._budget = search, journal, config.samples
        self._known: dict[tuple[type[Entry], str], Entry] = {
            (type(entry), entry.subject): entry for entry in journal.entries
        }
        self._cost = SearchCost(search=config.method, collection_s=collection_s)
        self._solves: dict[str, HighScore] = {}
        self._ended_by: str | None = None
        self._unwritten: set[str] = set()
        self._asked = self._reported = self._silence = 0
        self._answered = False  # by the model API, in this process
        self._began_s, self._busy_s = time.monotonic(), 0.0
        self._lock = Lock()

    def run(
        self,
        evaluator: Evaluator,
        watcher: Watcher,
        on_generation: Callable[[EvolutionState], object],
        generations: int | None = None,
        limit: int | None = None,
    ) -> Evolution:
        """Run to the end, or to a limit: of the budget, of new generations, or of rules sampled in all.

        `on_generation` is called once a generation is stored, and on taking a search up for those of earlier runs.
        Raises `GeneratorError` if no further rule can be written until a person changes something.
        """
        self._evaluator, self._watcher, self._on_generation = evaluator, watcher, on_generation
        self._limit, self.paused = limit, False
        if self._journal.end(self._budget) is None:
            self._journal.start()
        try:
            with ThreadPoolExecutor(CONCURRENT_WORK) as self._threads:
                self._go_on(generations)
        except Exception as error:
            with suppress(OSError, StoreError):  # a full disk may be the reason
                self._journal.add(Stopped(reason=str(error) or type(error).__name__))
            raise
        return self._outcome()

    def _go_on(self, generations: int | None) -> None:
        new = 0
        requests = self._search.ask()
        while requests:
            asked_s = time.monotonic()
            answers = self._answers(requests)
            self._busy_s += time.monotonic() - asked_s
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

    def _answers(self, requests: Sequence[Request]) -> tuple[Answer, ...]:
        """Return the answers in the order of the requests: stored ones, or new ones that threads work out."""
        for kind, activity in _ACTIVITIES.items():
            if count := sum(isinstance(request, kind) for request in requests):
                self._watcher.activity(activity.format(count, instances=len(self._evaluator.design)))
        scores = {entry.id: entry.score for entry in self._known.values() if isinstance(entry, Scored)}
        reference = self._known.get((Referred, ""))
        rpb = reference.reference if isinstance(reference, Referred) else None
        solved = {entry.id: entry.score for entry in self._known.values() if isinstance(entry, HighScored)}
        tau = self._search.summaries[-1].tau if self._search.summaries else None
        self._past, self._heard = Past(self._search.samples, scores, rpb, solved, tau), False
        if any(isinstance(one, SolveRequest) and (HighScored, one.id) not in self._known for one in requests):
            with suppress(OutOfTimeError):  # which the threads find too, and end the search by
                self._reference()  # now, so that a failure is not met once by each thread
        pending = [self._begin(request) for request in requests]
        results: list[Answer | NoDraftError] = []
        try:
            for request, future in zip(requests, pending, strict=True):
                results.append(self._result(request, future))
                self._watcher.progress(len(results), len(requests))
        finally:
            for future in pending:
                if future is not None:
                    future.cancel()
        # The others were waited for all the same: what they cost must not be lost.
        stop = next((error for error in results if isinstance(error, DraftingStoppedError)), None)
        stop = stop or self._outage([error for error in results if isinstance(error, UnansweredError)])
        if stop is not None:
            raise stop
        return tuple(
            result if isinstance(result, Answer) else self._given_up(request, result)
            for request, result in zip(requests, results, strict=True)
        )

    def _result(self, request: Request, future: Future[Answer] | None) -> Answer | NoDraftError:
        """Wait for an answer and count what it cost; return why a draft has none now."""
        if future is None:
            return self._not_written(request)
        try:
            answer = future.result()
        except OutOfTimeError:
            self._ended_by = self._ended_by or out_of_time(self._evaluator.account.budget)
            return Answer(id=request.id, failure=self._ended_by)
        except (DraftingStoppedError, BudgetReachedError, UnansweredError) as error:
            if error.draft is not None and error.draft.attempts:
                asked = cast(WrittenRequest, request)
                self._journal.add(Unanswered(request=asked, draft=error.draft, reason=str(error)))
            if isinstance(error, BudgetReachedError):
                self._ended_by = self._ended_by or str(error)
                return self._not_written(request)
            return error
        self._count(request)
        return answer

    def _not_written(self, request: Request) -> Answer:
        self._unwritten.add(request.id)
        return Answer(id=request.id, failure=f"Not written: {self._ended_by}")

    def _given_up(self, request: Request, error: NoDraftError) -> Answer:
        """Go on without what a model API did not write, now and whenever the search is taken up again."""
        if self._ended_by is not None or error.draft is None:
            return self._not_written(request)
        self._store(Drafted(request=cast(WrittenRequest, request), draft=error.draft))
        answer = self._answer(request)
        self._count(request)
        return answer

    def _begin(self, request: Request) -> Future[Answer] | None:
        """Have a request answered in a thread; None where a limit of the budget does not allow another draft."""
        sampled = isinstance(request, SampleRequest) and request.source is None
        self._asked += sampled
        if (sampled or isinstance(request, ReflectionRequest)) and (Drafted, request.id) not in self._known:
            if sampled and self._limit is not None and self._asked > self._limit:
                self._ended_by = (
                    self._ended_by or f"The run was asked for no more than {self._limit:,} samples in all."
                )
            budget = self._evaluator.account.budget
            self._ended_by = self._ended_by or reached(budget, Spending(), self._cost.solver_s)
            if self._ended_by is not None:
                return None
        return self._threads.submit(self._answer, request)

    def _answer(self, request: Request) -> Answer:
        evaluator, name = self._evaluator, request.id
        match request:
            case ReflectionRequest():
                draft = self._draft(request)
                return Answer(id=name, text=draft.text, failure=draft.failure)
            case SampleRequest():
                draft = self._draft(request)
                low = self._once(
                    Scored, name, lambda: Scored(id=name, score=evaluator.score(request, draft))
                ).score
                known = low.model_dump(include={"sha", "behaviour", "f_lf", "failure"})
                return Answer(id=name, source=low.source or draft.source, thought=draft.thought, **known)
            case TrialRequest():
                trial = self._once(
                    Tried, name, lambda: Tried(request=request, score=evaluator.try_out(request))
                ).score
                return Answer(id=name, costs=trial.costs or (), failure=trial.failure)
            case SolveRequest():
                high = self._once(
                    HighScored,
                    name,
                    lambda: HighScored(id=name, score=evaluator.solve(request, self._reference())),
                ).score
                return Answer(id=name, **high.model_dump(include={"f_hf", "eliminated", "failure", "costs"}))

    def _draft(self, request: WrittenRequest) -> Draft:
        """Return what was written for a request, or have it written."""
        score = None

        def write() -> Drafted:
            nonlocal score
            if isinstance(request, SampleRequest) and request.source is not None:
                thought = "The rule the search begins with."
                draft = Draft(
                    key=request.id, generator="search", model="", thought=thought, source=request.source
                )
            else:
                draft, score = self._evaluator.write(request, self._past)
                self._heard |= any(not attempt.recorded for attempt in draft.attempts)
            return Drafted(request=request, draft=draft)

        entry = self._once(Drafted, request.id, write)
        if entry.request != request:
            raise JournalError(
                f"The journal in {self._journal.folder} has an answer to another request {request.id} than this search "
                "makes: it was written by another version of BiFE. Move the folder away to have the search made anew."
            )
        if score is not None and (Scored, request.id) not in self._known:
            self._store(Scored(id=request.id, score=score))
        return entry.draft

    def _reference(self) -> Reference:
        """Return RPB's solves of the design instances, made before the first rule is evaluated in the solver."""
        with self._lock:
            return self._once(Referred, "", lambda: Referred(reference=self._evaluator.refer())).reference

    def _once(self, kind: type[EntryType], subject: str, make: Callable[[], EntryType]) -> EntryType:
        """Return the stored event of a kind on a subject, or make one and store it."""
        if (kind, subject) not in self._known:
            self._store(make())
        return self._found(kind, subject)

    def _found(self, kind: type[EntryType], subject: str) -> EntryType:
        return cast(EntryType, self._known[kind, subject])

    def _store(self, entry: Entry) -> None:
        self._known[type(entry), entry.subject] = self._journal.add(entry)

    def _outage(self, errors: Sequence[UnansweredError]) -> DraftingStoppedError | None:
        """Return why the search must stop if the model API does not answer any more, or never did in this process.

        A request that goes unanswered among others that are answered is a failed sample; so is one that is refused, for
        it will be refused again. An hour without network is not to become a search without rules.
        """
        self._answered |= self._heard
        if self._heard or not errors or self._ended_by is not None:
            self._silence = 0
            return None
        self._silence += len(errors)
        refused = all(error.draft.unanswered == "refused" for error in errors)
        if self._silence < SILENT_REQUESTS and (self._answered or refused):
            return None
        said = (
            "did not answer the only request"
            if len(errors) == 1
            else f"answered none of the last {self._silence} requests"
        )
        return DraftingStoppedError(f"The model API {said}. {errors[0].draft.failure} Run again to go on.")

    def _count(self, request: Request) -> None:
        """Add what an answer cost, whenever that was."""
        cost, name = self._cost, request.id
        match request:
            case ReflectionRequest():
                cost = cost.plus("generation", self._found(Drafted, name).draft.seconds, "reflections")
            case SampleRequest():
                if request.source is None:
                    cost = cost.plus("generation", self._found(Drafted, name).draft.seconds, "samples")
                cost = cost.plus("f_lf", self._found(Scored, name).score.seconds)
            case TrialRequest():
                cost = cost.plus("tuning", self._found(Tried, name).score.cpu_s, "trials")
            case SolveRequest():
                if not self._solves:
                    cost = cost.plus("f_hf", self._found(Referred, "").reference.cpu_s)
                score = self._solves[name] = self._found(HighScored, name).score
                cost = cost.solved_with(name, score.cpu_s, score.f_hf)
        self._cost = cost

    def _complete(self, requests: Sequence[Request]) -> int:
        """Store the generations that are complete, now that `requests` are asked, and return how many are new."""
        waiting = {request.id for request in requests if isinstance(request, SolveRequest)}
        waiting |= {request.sample or "" for request in requests if isinstance(request, TrialRequest)}
        self._finalise(sample for sample in self._search.samples if sample.id not in waiting)
        last = self._known.get((Completed, ""))
        stored = last.summary.generation if isinstance(last, Completed) else -1
        new = 0
        for summary in self._search.summaries[self._reported :]:
            self._reported += 1
            if summary.generation > stored:
                files.write_samples(self._journal.folder, self._search.samples)
                self._store(self._completion(summary))
                new += 1
            self._on_generation(self._state(summary))
        return new

    def _finalise(self, samples: Iterable[Sample]) -> None:
        """Store samples of which nothing more will become known."""
        for sample in samples:
            if (Finalised, sample.id) not in self._known:
                self._store(Finalised(sample=sample))

    def _completion(self, summary: GenerationSummary) -> Completed:
        solved = [sample.f_hf for sample in self._search.samples if sample.f_hf is not None]
        return Completed(
            summary=summary,
            spending=self._evaluator.account.spending(),
            mean_f_hf=sum(solved) / len(solved) if solved else None,
            solved=len(solved),
            solve_cpu_s=sum(score.cpu_s for score in self._solves.values()),
            budget_used=self._budget_used,
        )

    @property
    def _budget_used(self) -> dict[str, float]:
        account = self._evaluator.account
        return used_shares(account.budget, account.spending(), self._cost.solver_s, self._journal.elapsed_s)

    def _state(self, summary: GenerationSummary) -> EvolutionState:
        samples, elapsed_s = self._search.samples, self._journal.elapsed_s
        left = max(self._budget - summary.samples_total, 0)
        return EvolutionState(
            **dict(summary),
            budget=self._budget,
            eliminated=sum(sample.eliminated is not None for sample in samples),
            last_failure=next((sample.failure for sample in reversed(samples) if sample.failure), None),
            spending=self._evaluator.account.spending(),
            elapsed_s=elapsed_s,
            remaining_s=elapsed_s * left / max(summary.samples_total, 1),
            rules=samples,
            curve=self._cost.curve,
            budget_used=self._budget_used,
        )

    def _outcome(self) -> Evolution:
        """Return what the search found; unless it only pauses, write that down."""
        folder, scores = self._journal.folder, self._solves.values()
        samples = tuple(sample for sample in self._search.samples if sample.id not in self._unwritten)
        best, ended = self._search.best, self._journal.end(self._budget)
        summaries = self._search.summaries[: max(self._reported, 1)]
        wall_s = time.monotonic() - self._began_s
        # The cost on record is that of the run which ended the search, not of one that only found it ended.
        cost = ended.cost if ended is not None else self._cost
        if not self.paused:
            if ended is None:
                cost = cost.model_copy(update={"other_s": wall_s - self._busy_s, "wall_s": wall_s})
            if ended is None or not (folder / files.COST).is_file():
                files.write_outcome(folder, best, samples, summaries, cost)
            if ended is None:
                # Of a generation that a limit left open, what was solved with is final; the best rule is among it.
                self._finalise(sample for sample in samples if sample.f_hf is not None)
                self._journal.add(Ended(best=best, cost=cost, samples=self._budget, ended_by=self._ended_by))
        return Evolution(
            folder=folder,
            best=best,
            samples=samples,
            generations=tuple(summaries),
            best_solves=self._solves[best.id].results if best and best.id in self._solves else (),
            spending=self._evaluator.account.spending(),
            cost=cost,
            ended_by=self._ended_by,
            seconds=wall_s,
            mismatches=contradictions([solve for score in scores for solve in score.results]),
            notes=tuple(dict.fromkeys(note for score in scores for note in score.notes)),
        )
