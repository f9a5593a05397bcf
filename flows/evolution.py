"""The second stage: a search for a rule, driven one ask at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence

from prefect import flow
from prefect.futures import wait
from prefect.task_runners import ThreadPoolTaskRunner
from pydantic.json_schema import SkipJsonSchema

from bife_core.collection import CollectionSummary
from bife_core.config import PipelineConfig
from bife_core.errors import GeneratorError
from bife_core.evaluation import contradictions
from bife_core.fidelity.high import HighScore
from bife_core.fidelity.low import LowScore
from bife_core.generators import Generation
from bife_core.scip.solving import SolveResult
from bife_core.search import (
    Answer,
    CostLedger,
    ReportingSearch,
    SampleAnswer,
    SampleRequest,
    SolveAnswer,
    SolveRequest,
    open_search,
)
from flows.collection import collection
from flows.events import EVOLUTION_ENDED, announce, stands_alone
from flows.observer import EvolutionState, observer
from flows.pages import EvolutionPage, show_verdict
from flows.results import EvolutionResult, TrackedRun
from flows.verdicts import evolution_verdict, links
from tasks.collection import prepare_instances
from tasks.evolution import (
    alone_in_evolution,
    calls_directory,
    evolution_directory,
    evolution_key,
    record_generation,
    record_outcome,
    spending,
    track,
)
from tasks.generation import GenerationStopped, propose
from tasks.records import InstanceSet, SampleRecord
from tasks.scoring import score_high, score_low
from tasks.states import in_plain_words, told
from tasks.tracking import EVOLUTION, run_url
from tasks.tracking.views import charts_url, table_url

CONCURRENT_TASKS = 16
"""Samples a model API is asked for at once; solves wait for a core whatever this is."""


@flow(
    name="evolution",
    flow_run_name="evolution {config.instances.label}",
    task_runner=ThreadPoolTaskRunner(max_workers=CONCURRENT_TASKS),  # type: ignore[arg-type]
)
@in_plain_words
def evolution(
    config: PipelineConfig,
    # Left out of the form on Prefect's page: only another flow has one to hand over.
    decisions: SkipJsonSchema[CollectionSummary | None] = None,
) -> EvolutionResult:
    """Search for a rule; run it again with the same settings to go on where it stopped.

    Parameters
    ----------
    config : PipelineConfig
        All but its `evaluation` is read.
    decisions : CollectionSummary, optional
        What F_LF is measured on; collected first if it is not given.

    Raises
    ------
    BifeError
        If instances cannot be used, no decision could be recorded, or the model API refuses all requests.
    """
    if decisions is None:
        decisions = collection(config).summary
    search = config.search
    observer().stage("evolution", f"{search.samples} samples by {config.generator.kind}")
    design = InstanceSet.model_validate(prepare_instances(config.instances, "design", config.high.instances))
    key = evolution_key(config, decisions, design)
    with alone_in_evolution(key):
        result = _Evolution(key, config, decisions, design).run()
    show_verdict(config.instances.label, "evolution", evolution_verdict(result))
    if result.best is not None and stands_alone():
        payload = {"rule": f"runs:/{result.run.run_id}", "config": config.model_dump(mode="json")}
        announce(EVOLUTION_ENDED, f"evolution.{result.key}", payload)
    return told(result, result.sentence)


class _Evolution:
    """One evolution under way: asks the search, has tasks find the answers, and tells."""

    def __init__(
        self, key: str, config: PipelineConfig, decisions: CollectionSummary, design: InstanceSet
    ) -> None:
        self.config = config
        self.decisions = decisions
        self.design = design
        self.key = key
        self.directory = evolution_directory(self.key)
        self.tracker = track(config, self.key, decisions, design)
        self.search: ReportingSearch = open_search(config.search)
        self.records: dict[str, SampleRecord] = {}
        self.ledger = CostLedger("bife", decisions.cpu_s)
        run_id = self.tracker.run_id
        self.urls = (table_url(run_id), charts_url(run_id), run_url(run_id, EVOLUTION))
        self.page = EvolutionPage(config.instances.label, links(*self.urls))
        self.began_s = time.monotonic()
        self.busy_s = 0.0

    def run(self) -> EvolutionResult:
        reported = 0
        requests = self.search.ask()
        try:
            while requests:
                samples = [request for request in requests if isinstance(request, SampleRequest)]
                solves = [request for request in requests if isinstance(request, SolveRequest)]
                asked_s = time.monotonic()
                answers = (*self.sample(samples), *self.solve(solves))
                self.busy_s += time.monotonic() - asked_s
                self.search.tell(answers)
                requests = self.search.ask()
                waiting = {request.id for request in requests if isinstance(request, SolveRequest)}
                self.track_samples(waiting)
                for summary in self.search.summaries[reported:]:
                    record_generation(
                        self.tracker, self.directory, summary, self.all_records(), self.search.candidates
                    )
                    observer().generation(self.state())
                    curve = self.ledger.total(other_s=0.0, wall_s=0.0).curve
                    self.page.generation(self.state(), self.search.candidates, curve)
                reported = len(self.search.summaries)
        except GeneratorError as error:
            self.tracker.samples(self.all_records())
            self.tracker.stop(str(error))
            raise
        candidates, best = self.search.candidates, self.search.best
        wall_s = time.monotonic() - self.began_s
        cost = record_outcome(
            self.tracker,
            self.directory,
            best,
            candidates,
            self.search.summaries,
            self.ledger.total(other_s=wall_s - self.busy_s, wall_s=wall_s),
        )
        mismatches = self.mismatches()
        notes = (
            *self.design.notes,
            *self.solver_notes(),
            *(f"Proven optima differ, which is a defect: {mismatch}" for mismatch in mismatches),
            *self.tracker.notes,
        )
        for note in notes:
            observer().note(note)
        ranking, charts, page = self.urls
        return EvolutionResult(
            key=self.key,
            best=best,
            best_solves=self.solves_of(best.id) if best is not None else (),
            samples=len(candidates),
            failures=sum(candidate.failure is not None for candidate in candidates),
            decisions=self.decisions,
            spending=spending(self.all_records()),
            cost=cost,
            seconds=time.monotonic() - self.began_s,
            directory=self.directory,
            run=TrackedRun(experiment=EVOLUTION, run_id=self.tracker.run_id, url=page),
            ranking_url=ranking,
            charts_url=charts,
            mismatches=mismatches,
            notes=notes,
        )

    def sample(self, requests: Sequence[SampleRequest]) -> list[Answer]:
        """Have rules written, all at once, and score each as soon as it is there."""
        if not requests:
            return []
        observer().activity(f"sampling {len(requests)} rules")
        config, calls = self.config, calls_directory(self.key)
        written = [
            propose.submit(request, config.generator, config.instances.label, calls, self.key)
            for request in requests
        ]
        scored = []
        stopped: GenerationStopped | None = None
        for request, future in zip(requests, written, strict=True):
            try:
                generation = Generation.model_validate(future.result())
            except GenerationStopped as stop:
                # The others are waited for all the same: what they cost must not be lost.
                self.records[request.id] = SampleRecord(request=request, generation=stop.generation)
                stopped = stop
                continue
            self.records[request.id] = SampleRecord(request=request, generation=generation)
            scored.append(
                score_low.submit(
                    request.id,
                    generation.model_dump(mode="json"),
                    self.decisions.path,
                    self.decisions.digest,
                    config.low,
                    config.workers,
                    config.runner,
                )
            )
        if stopped is not None:
            wait(scored)
            raise stopped
        answers: list[Answer] = []
        for done, (request, future) in enumerate(zip(requests, scored, strict=True), start=1):
            answers.append(self.sampled(request, LowScore.model_validate(future.result())))
            observer().progress(done, len(requests))
        return answers

    def sampled(self, request: SampleRequest, score: LowScore) -> SampleAnswer:
        record = self.records[request.id]
        self.records[request.id] = record.model_copy(update={"low": score})
        written = record.generation
        self.ledger.sampled(written.seconds if written else 0.0)
        self.ledger.scored(score.seconds)
        return SampleAnswer(
            id=request.id,
            sha=score.sha,
            source=written.source if written else None,
            thought=written.thought if written else None,
            f_lf=score.f_lf,
            failure=score.failure,
        )

    def solve(self, requests: Sequence[SolveRequest]) -> list[Answer]:
        """Solve the design instances with the rules that earned it."""
        if not requests:
            return []
        observer().activity(f"solving {len(self.design.instances)} instances with {len(requests)} rules")
        config = self.config
        solved = [
            score_high.submit(
                request.id,
                request.candidate.source or "",
                self.design,
                config.high,
                self.key,
                config.workers,
                config.runner,
            )
            for request in requests
        ]
        answers: list[Answer] = []
        for done, (request, future) in enumerate(zip(requests, solved, strict=True), start=1):
            score = HighScore.model_validate(future.result())
            self.records[request.id] = self.records[request.id].model_copy(update={"high": score})
            self.ledger.solved(request.id, score.cpu_s, score.f_hf)
            answers.append(SolveAnswer(id=request.id, f_hf=score.f_hf, failure=score.failure))
            observer().progress(done, len(requests))
        return answers

    def solver_notes(self) -> tuple[str, ...]:
        """Return what scores of candidates leave out, such as instances on which SCIP fails, each once."""
        notes = (note for record in self.records.values() if record.high for note in record.high.notes)
        return tuple(dict.fromkeys(notes))

    def solves_of(self, candidate: str) -> tuple[SolveResult, ...]:
        """Return a candidate's solves of the design instances."""
        score = self.records[candidate].high
        return score.results if score is not None else ()

    def mismatches(self) -> tuple[str, ...]:
        """Return a sentence per design instance of which two rules proved different things."""
        solves = [solve for candidate in self.records for solve in self.solves_of(candidate)]
        return contradictions(solves)

    def track_samples(self, waiting: set[str]) -> None:
        """Write those samples to MLflow of which nothing more will become known."""
        for candidate in self.search.candidates:
            record = self.records[candidate.id]
            self.records[candidate.id] = record.model_copy(update={"candidate": candidate})
        self.tracker.samples([self.records[c.id] for c in self.search.candidates if c.id not in waiting])

    def all_records(self) -> list[SampleRecord]:
        return list(self.records.values())

    def state(self) -> EvolutionState:
        """Return what a watcher is shown after a generation."""
        summary, budget = self.search.summaries[-1], self.config.search.samples
        elapsed_s = time.monotonic() - self.began_s
        left = max(budget - summary.samples_total, 0)
        return EvolutionState(
            generation=summary.generation,
            samples=summary.samples_total,
            budget=budget,
            best_f_lf=summary.best_f_lf,
            best_f_hf=summary.best_f_hf,
            elites=summary.n_elites,
            tau=summary.tau,
            failures=summary.failures_total,
            last_failure=next((c.failure for c in reversed(self.search.candidates) if c.failure), None),
            spending=spending(self.all_records()),
            elapsed_s=elapsed_s,
            remaining_s=elapsed_s * left / max(summary.samples_total, 1),
        )
