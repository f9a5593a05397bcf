"""The engine of a study: it asks the search, tells it the answers, and stores generations and the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bife_core.base.values import Value
from bife_core.measure.evaluation.comparison import known_as
from bife_core.measure.high import HighScore, high_fidelity
from bife_core.run.observer import Observer, SearchState, TrackedRun
from bife_core.run.study import files
from bife_core.run.study.answering import Answering
from bife_core.run.study.evaluator import Evaluator
from bife_core.run.study.journal import Completed, Ended, Journal
from bife_core.search import (
    BaseSearch,
    GenerationSummary,
    Request,
    Sample,
    SearchCost,
    TrialRequest,
    WrittenRequest,
)
from bife_core.search.answers import Answered
from bife_core.search.config import SearchConfig
from bife_core.search.generators import Spending
from bife_core.search.generators.account import used_shares
from bife_core.solver.methods.references import method_of
from bife_core.solver.scip.solve import SolveResult, cautions, contradictions


class SearchOutcome(Value):
    """The outcome of a search, earlier runs included.

    Attributes
    ----------
    key : str
        Its key in the store.
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
        What calls to a model API cost; the seconds of the search, by what they were spent on.
    ended_by : str or None
        Which limit of the budget ended the search before its last sample, as a sentence.
    seconds : float
        Wall seconds that the search ran in this process.
    mismatches, notes : tuple of str
        Sentences on instances for which rules proved different optima; on what scores leave out.
    new : bool
        Whether this run had anything left to do.
    run : TrackedRun
        Where a tracker has the search, if it was run as a stage.
    """

    key: str
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
    new: bool = True
    run: TrackedRun = TrackedRun()

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
        """The outcome in one sentence."""
        if not self.new:
            return f"Nothing to do: this is search {self.key}, which ended before. {self.run.url}".rstrip()
        if self.best is None:
            return f"None of {len(self.samples)} sampled rules was of use."
        name, value = ("F_LF", self.best.f_lf) if self.best.f_hf is None else ("F_HF", self.best.f_hf)
        return f"{self.best.id} is the best of {len(self.samples)} rules: {name} {value:.4g}."


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
        self._answering = Answering(journal, SearchCost(search=config.algorithm, collection_s=collection_s))
        self._reported, self._before_s = 0, journal.elapsed_s

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
        self._evaluator, self._on_generation, self.paused = evaluator, on_generation, False
        before = len(self._journal.of(Answered))
        with self._answering.by(evaluator, observer, limit):
            if self._journal.end(self._budget) is None:
                self._journal.start()
            self._go_on(generations)
            return self._outcome(new=len(self._journal.of(Answered)) > before)

    def _go_on(self, generations: int | None) -> None:
        new, work = 0, self._answering
        requests = self._search.ask()
        while requests:
            answers = work.answers(requests, self._search)
            if work.unwritten.issuperset(request.id for request in requests):
                return
            self._search.tell(answers)
            requests = self._search.ask()
            if work.ended_by is not None:
                # What is written is evaluated in the solver; the generation stays open, to be completed another day.
                if all(isinstance(request, WrittenRequest) for request in requests):
                    return
                continue
            new += self._complete(requests)
            self.paused = generations is not None and new >= generations and bool(requests)
            if self.paused:
                return

    def _complete(self, requests: Sequence[Request]) -> int:
        """Store the generations that are complete, now that `requests` are asked, and return how many are new."""
        waiting = {
            request.sample if isinstance(request, TrialRequest) else request.id for request in requests
        }
        self._journal.settle(sample for sample in self._search.samples if sample.id not in waiting)
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

    def _completion(self, summary: GenerationSummary) -> Completed:
        solved = [sample.f_hf for sample in self._search.samples if sample.f_hf is not None]
        account, solver_s = self._evaluator.account, self._answering.cost.solver_s
        spending, elapsed_s = account.spending(), self._journal.elapsed_s
        return Completed(
            summary=summary,
            spending=spending,
            mean_f_hf=sum(solved) / len(solved) if solved else None,
            solved=len(solved),
            solve_cpu_s=sum(score.seconds for score in self._solves().values()),
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
            curve=self._answering.cost.curve,
            budget_used=entry.budget_used,
        )

    def _solves(self) -> dict[str, HighScore]:
        """Return the scores of the rules that were solved with, by their ids, in the order they were sampled."""
        solved = self._journal.solved
        return {rule.id: solved[rule.id] for rule in self._search.samples if rule.id in solved}

    def _references(self) -> dict[str, float]:
        reference = self._journal.reference
        results = [] if reference is None else [result for result in reference.results if result]
        high, objectives = self._evaluator.config.high, reference.objectives if reference else None
        name = known_as(self._evaluator.solving.usual.name)
        usual = {name: high_fidelity(results, high, objectives)} if results else {}
        return usual | dict(self._evaluator.beside)

    def _outcome(self, *, new: bool) -> SearchOutcome:
        """Return what the search found; unless it only pauses, write that down."""
        work, journal, folder, solves = self._answering, self._journal, self._journal.folder, self._solves()
        samples = tuple(sample for sample in self._search.samples if sample.id not in work.unwritten)
        best, ended, former = self._search.best, journal.end(self._budget), journal.find(Ended)
        summaries = self._search.summaries[: max(self._reported, 1)]
        notes = [note for score in solves.values() for note in score.notes]
        wall_s, spending = journal.elapsed_s - self._before_s, self._evaluator.account.spending()
        # The cost on record is that of the run which ended the search, not of one that only found it ended.
        totals: dict[str, Any] = {"wall_s": wall_s, "other_s": wall_s - work.busy_s}
        totals |= {"tokens": spending.tokens, "usd": spending.cost_usd}
        cost = ended.cost if ended is not None else work.cost.model_copy(update=totals)
        if not self.paused and (ended is None or not (folder / files.COST).is_file()):
            journal.store.require_claims(journal.key)
            files.write_outcome(folder, best, samples, summaries, cost)
        if not self.paused and ended is None:
            # Of a generation that a limit left open, what was solved with is final; the best rule is among it.
            journal.settle(sample for sample in samples if sample.f_hf is not None)
            journal.add(Ended(best=best, cost=cost, samples=self._budget, ended_by=work.ended_by))
            if best and former and former.best and former.best.sha != best.sha:
                notes.append(
                    f"The best rule is {best.id} now ({_file_of(best, folder)}) and was {former.best.id} before, "
                    f"whose file stays as it is ({_file_of(former.best, folder)}); compare them on held-out "
                    "instances before one replaces the other."
                )
        measured = [solve for score in solves.values() for solve in score.results]
        return SearchOutcome(
            key=journal.key,
            folder=folder,
            best=best,
            samples=samples,
            generations=tuple(summaries),
            best_solves=solves[best.id].results if best and best.id in solves else (),
            references=self._references(),
            spending=spending,
            cost=cost,
            ended_by=work.ended_by,
            seconds=wall_s,
            mismatches=contradictions(measured),
            notes=tuple(dict.fromkeys([*notes, *cautions(measured)])),
            new=new,
        )
