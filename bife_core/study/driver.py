"""The driver: asks a search, finds the answers, tells it, until it is over or a budget is used up (Algorithm 1)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import geometric_mean

from bife_core.agreement import contradictions
from bife_core.generators import Spending
from bife_core.scip.solving import SolveResult
from bife_core.search import (
    GenerationSummary,
    Request,
    Sample,
    Search,
    SearchCost,
    SolveRequest,
    TrialRequest,
)
from bife_core.search.config import SearchConfig
from bife_core.store import StoreError
from bife_core.study import files
from bife_core.study.answering import Answering, Ledger
from bife_core.study.evaluator import Evaluator, Executor
from bife_core.study.journal import Completed, Ended, Journal, Settled, Stopped
from bife_core.study.watching import EvolutionState, Watcher
from bife_core.values import Value


class Evolution(Value):
    """The outcome of a search.

    Attributes
    ----------
    folder : Path
        Where its files lie: the journal, best_rule.py, best.diff, samples.json, lineage.json, search_cost.json,
        anytime.csv, figures; trials.csv if there were trials, calls to a model API if there were any.
    best : Sample or None
        The rule the search ended with, by the fidelity it goes by; None if there is none.
    samples : tuple of Sample
        All rules sampled, in order.
    generations : tuple of GenerationSummary
        One per completed generation.
    best_solves : tuple of SolveResult
        The best rule's solves of the design instances.
    spending : Spending
        What calls to a model API cost, those of interrupted earlier runs included.
    cost : SearchCost
        Rule-design time by what it went on, and the best F_HF against what had been spent.
    ended_by : str or None
        Which limit of the budget ended the search before its last sample, as a sentence.
    seconds : float
        Wall seconds of this run of it.
    mismatches : tuple of str
        A sentence per design instance of which two rules proved different things.
    notes : tuple of str
        Sentences on what scores leave out, such as instances on which SCIP fails.
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


class Driver:
    """Runs one search, from wherever its journal ends; `evolve` makes one.

    Parameters
    ----------
    search : Search
        A new one; what the journal knows is told to it again.
    collection_s : float
        CPU seconds that recording the decisions took; 0 for a search that reads none.
    on_generation : callable, optional
        Called after each generation, once it is on disk; on taking a search up, for those of earlier runs too.
    generations : int, optional
        New generations after which the run pauses.
    """

    def __init__(
        self,
        search: Search,
        config: SearchConfig,
        journal: Journal,
        evaluator: Evaluator,
        executor: Executor,
        *,
        collection_s: float = 0.0,
        watcher: Watcher | None = None,
        on_generation: Callable[[EvolutionState], None] | None = None,
        generations: int | None = None,
    ) -> None:
        self._search = search
        self._generations = generations
        self._budget = config.samples
        self._journal = journal
        self._evaluator = evaluator
        self._ledger = Ledger(SearchCost(search=config.method, collection_s=collection_s))
        self._answering = Answering(journal, evaluator, executor, self._ledger, watcher or Watcher())
        self._on_generation = on_generation
        self._settled = {e.sample.id for e in journal.entries if isinstance(e, Settled)}
        self._completed = {e.summary.generation for e in journal.entries if isinstance(e, Completed)}
        self._reported = 0
        self._new_generations = 0
        self._began_s = time.monotonic()
        self._busy_s = 0.0

    def run(self) -> Evolution:
        """Run the search to its end, or to where a limit of its budget is reached.

        Raises
        ------
        GeneratorError
            If no further rule can be written until a person changes something; run again to go on.
        BifeError
            If instances cannot be solved, or the journal is of another version.
        """
        if self._journal.end(self._budget) is None:
            self._journal.start()
        try:
            self._go_on()
        except Exception as error:
            with suppress(OSError, StoreError):  # a full disk may be the reason
                self._journal.add(Stopped(reason=str(error) or type(error).__name__))
            raise
        return self._outcome()

    def _go_on(self) -> None:
        answering = self._answering
        requests = self._search.ask()
        while requests:
            asked_s = time.monotonic()
            answers = answering.answers(requests, self._search.samples)
            self._busy_s += time.monotonic() - asked_s
            if answering.not_written.issuperset(request.id for request in requests):
                return
            self._search.tell(answers)
            requests = self._search.ask()
            if answering.ended_by is not None:
                # What is paid for is solved with; the generation stays open, to be completed another day.
                if not any(isinstance(request, SolveRequest | TrialRequest) for request in requests):
                    return
                continue
            self._settle(requests)
            self._complete()
            if self._generations is not None and self._new_generations >= self._generations and requests:
                answering.ended_by = f"The run was asked for {self._generations} generations."
                return

    def _settle(self, requests: Sequence[Request]) -> None:
        """Write down the samples of which nothing more will become known, now that `requests` are asked."""
        waiting = {request.id for request in requests if isinstance(request, SolveRequest)}
        waiting |= {request.sample or "" for request in requests if isinstance(request, TrialRequest)}
        self._write_settled(sample for sample in self._search.samples if sample.id not in waiting)

    def _write_settled(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            if sample.id not in self._settled:
                self._journal.add(Settled(sample=sample))
                self._settled.add(sample.id)

    def _complete(self) -> None:
        """Write down the generations that are complete."""
        for summary in self._search.summaries[self._reported :]:
            self._reported += 1
            if summary.generation not in self._completed:
                files.write_search(self._journal.folder, self._search.samples)
                self._journal.add(self._completion(summary))
                self._new_generations += 1
            if self._on_generation is not None:
                self._on_generation(self._state(summary))

    def _completion(self, summary: GenerationSummary) -> Completed:
        solved = [sample.f_hf for sample in self._search.samples if sample.f_hf is not None]
        return Completed(
            summary=summary,
            spending=self._evaluator.account.spending(),
            mean_f_hf=sum(solved) / len(solved) if solved else None,
            solved=len(solved),
            solve_cpu_s=sum(score.cpu_s for score in self._answering.solves.values()),
        )

    def _state(self, summary: GenerationSummary) -> EvolutionState:
        elapsed_s = self._journal.elapsed_s
        left = max(self._budget - summary.samples_total, 0)
        samples = self._search.samples
        return EvolutionState(
            **dict(summary),
            budget=self._budget,
            eliminated=sum(sample.eliminated is not None for sample in samples),
            load_factor=self._load_factor(summary.generation),
            last_failure=next((sample.failure for sample in reversed(samples) if sample.failure), None),
            spending=self._evaluator.account.spending(),
            elapsed_s=elapsed_s,
            remaining_s=elapsed_s * left / max(summary.samples_total, 1),
            rules=samples,
            curve=self._ledger.cost.curve,
        )

    def _load_factor(self, generation: int) -> float | None:
        own = {sample.id for sample in self._search.samples if sample.generation == generation}
        measured = [score.load_factor for name, score in self._answering.solves.items() if name in own]
        known = [slow for slow in measured if slow is not None]
        return geometric_mean(known) if known else None

    def _outcome(self) -> Evolution:
        """Write down and return what the search ended with."""
        answering, folder = self._answering, self._journal.folder
        samples = tuple(s for s in self._search.samples if s.id not in answering.not_written)
        best, ended_by = self._search.best, answering.ended_by
        summaries = self._search.summaries[: max(self._reported, 1)]
        wall_s = time.monotonic() - self._began_s
        cost = self._ledger.cost.model_copy(update={"other_s": wall_s - self._busy_s, "wall_s": wall_s})
        known = self._journal.end(self._budget)
        if known is not None:
            # The cost on record is that of the run which ended the search, not of one that only found it ended.
            cost = known.cost
        if known is None or not files.outcome_known(folder, best):
            files.write_search(folder, samples)
            files.write_outcome(folder, best, samples, summaries, cost, answering.trials)
        if known is None:
            # Of the generation a limit left open, what was solved with is known for good: the best rule is among it.
            self._write_settled(sample for sample in samples if sample.f_hf is not None)
            self._journal.add(Ended(best=best, cost=cost, samples=self._budget, ended_by=ended_by))
        return Evolution(
            folder=folder,
            best=best,
            samples=samples,
            generations=tuple(summaries),
            best_solves=answering.solves[best.id].results if best and best.id in answering.solves else (),
            spending=self._evaluator.account.spending(),
            cost=cost,
            ended_by=ended_by,
            seconds=time.monotonic() - self._began_s,
            mismatches=contradictions(
                [solve for score in answering.solves.values() for solve in score.results]
            ),
            notes=tuple(dict.fromkeys(note for score in answering.solves.values() for note in score.notes)),
        )
