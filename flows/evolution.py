"""The second stage: a search for a rule, driven one ask at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence

from prefect import flow
from prefect.task_runners import ThreadPoolTaskRunner
from pydantic.json_schema import SkipJsonSchema

from bife_core.agreement import contradictions
from bife_core.config import PipelineConfig
from bife_core.decisions.collecting import CollectionSummary
from bife_core.errors import GeneratorError
from bife_core.scip.solving import SolveResult
from bife_core.search import (
    GenerationSummary,
    ReportingSearch,
    Request,
    SolveRequest,
    TrialRequest,
    open_search,
)
from flows.abandoned import name_owner
from flows.answering import Answering
from flows.collection import collection
from flows.events import EVOLUTION_ENDED, announce, stands_alone
from flows.model_key import model_key
from flows.observer import EvolutionState, observer
from flows.pages import EvolutionPage, show_verdict
from flows.results import EvolutionResult, TrackedRun
from flows.verdicts import evolution_verdict, links
from tasks.collection import prepare_instances
from tasks.evolution import (
    alone_in_evolution,
    evolution_directory,
    evolution_key,
    record_generation,
    record_outcome,
    track,
)
from tasks.generation import require_generator
from tasks.records import InstanceSet, SampleRecord
from tasks.states import in_plain_words, told
from tasks.tracking import EVOLUTION, run_url
from tasks.tracking.views import charts_url, table_url

CONCURRENT_TASKS = 16
"""Samples a model API is asked for at once; solves wait for a core whatever this is."""


@flow(
    name="evolution",
    flow_run_name="evolution {config.instances.label}",
    on_running=[name_owner],
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
        What F_LF is measured on; collected first if it is not given and the search goes by F_LF.

    Raises
    ------
    BifeError
        If instances cannot be used, no decision could be recorded, or the model API refuses all requests.
    """
    require_generator(config)
    search = open_search(config.search)
    if not search.low_fidelity:
        decisions = None
    elif decisions is None:
        decisions = collection(config).summary
    observer().stage(
        "evolution",
        f"{config.search.method}, {config.search.samples} samples by {config.generator.kind}",
    )
    design = InstanceSet.model_validate(prepare_instances(config.instances, "design", config.high.instances))
    training = _training(config, design, search.training_instances) if search.training_instances else None
    key = evolution_key(config, decisions, design, training)
    with model_key(config.generator), alone_in_evolution(key):
        result = _Evolution(key, config, search, decisions, design, training).run()
    show_verdict(config.instances.label, "evolution", evolution_verdict(result))
    if result.best is not None and stands_alone():
        payload = {"rule": f"runs:/{result.run.run_id}", "config": config.model_dump(mode="json")}
        announce(EVOLUTION_ENDED, f"evolution.{result.key}", payload)
    return told(result, result.sentence)


def _training(config: PipelineConfig, design: InstanceSet, count: int) -> InstanceSet:
    """Return instances for trials: further design instances, so that F_HF is measured on others."""
    wider = InstanceSet.model_validate(
        prepare_instances(config.instances, "design", len(design.instances) + count)
    )
    others = [instance for instance in wider.instances if instance not in design.instances]
    pool = [*others, *design.instances]
    chosen = tuple(pool[position % len(pool)] for position in range(count))
    notes: tuple[str, ...] = ()
    if len(others) < count:
        notes = (
            f"{count - len(others)} of the {count} training instances of {config.search.method} "
            "are design instances too: there are no others.",
        )
    return InstanceSet(label=design.label, split="training", instances=chosen, notes=notes)


class _Evolution:
    """One evolution under way: asks the search, has tasks find the answers, and tells."""

    def __init__(
        self,
        key: str,
        config: PipelineConfig,
        search: ReportingSearch,
        decisions: CollectionSummary | None,
        design: InstanceSet,
        training: InstanceSet | None,
    ) -> None:
        self.config = config
        self.decisions = decisions
        self.design = design
        self.training = training
        self.key = key
        self.directory = evolution_directory(self.key)
        self.tracker = track(config, self.key, decisions, design, training)
        self.search = search
        self.answering = Answering(config, self.key, decisions, design, training)
        self.records = self.answering.records
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
                asked_s = time.monotonic()
                answers = self.answering.answers(requests)
                self.busy_s += time.monotonic() - asked_s
                if self.answering.not_written.issuperset(request.id for request in requests):
                    break
                self.search.tell(answers)
                requests = self.search.ask()
                if self.answering.ended_by is not None:
                    # What is paid for is solved with; the generation stays open, to be completed another day.
                    if not any(isinstance(request, SolveRequest | TrialRequest) for request in requests):
                        break
                    continue
                self.track_samples(requests)
                for summary in self.search.summaries[reported:]:
                    record_generation(
                        self.tracker,
                        self.directory,
                        summary,
                        self.all_records(),
                        self.search.samples,
                        self.answering.spending(),
                    )
                    observer().generation(self.state())
                    curve = self.answering.ledger.total(other_s=0.0, wall_s=0.0).curve
                    self.page.generation(self.state(), self.search.samples, curve)
                reported = len(self.search.summaries)
            if self.answering.ended_by is not None:
                # Calls are traced; a rule of the open generation may still earn solves another day.
                self.tracker.samples([known for known in self.all_records() if known.sample is None])
        except GeneratorError as error:
            self.tracker.samples(self.all_records())
            self.tracker.stop(str(error))
            raise
        finally:
            self.answering.clock.tick(now=True)
        return self.outcome(self.search.summaries[: max(reported, 1)])

    def outcome(self, summaries: Sequence[GenerationSummary]) -> EvolutionResult:
        """Write down and return what the search ended with."""
        ended_by = self.answering.ended_by
        samples = [c for c in self.search.samples if c.id not in self.answering.not_written]
        best = self.search.best
        wall_s = time.monotonic() - self.began_s
        cost = record_outcome(
            self.tracker,
            self.directory,
            best,
            samples,
            summaries,
            self.answering.ledger.total(other_s=wall_s - self.busy_s, wall_s=wall_s),
            self.answering.trials,
            ended_by,
        )
        mismatches = self.mismatches()
        notes = (
            *self.design.notes,
            *(self.training.notes if self.training is not None else ()),
            *self.solver_notes(),
            *(f"Proven optima differ, which is a defect: {mismatch}" for mismatch in mismatches),
            *self.tracker.notes,
            *((f"The search ended early: {ended_by} Raise it and run again to go on.",) if ended_by else ()),
        )
        for note in notes:
            observer().note(note)
        ranking, charts, page = self.urls
        return EvolutionResult(
            key=self.key,
            best=best,
            best_solves=self.solves_of(best.id) if best is not None else (),
            samples=len(samples),
            failures=sum(sample.failure is not None for sample in samples),
            decisions=self.decisions,
            spending=self.answering.spending(),
            cost=cost,
            ended_by=ended_by,
            seconds=time.monotonic() - self.began_s,
            directory=self.directory,
            run=TrackedRun(experiment=EVOLUTION, run_id=self.tracker.run_id, url=page),
            ranking_url=ranking,
            charts_url=charts,
            mismatches=mismatches,
            notes=notes,
        )

    def solver_notes(self) -> tuple[str, ...]:
        """Return what scores of samples leave out, such as instances on which SCIP fails, each once."""
        notes = (note for record in self.records.values() if record.high for note in record.high.notes)
        return tuple(dict.fromkeys(notes))

    def solves_of(self, sample: str) -> tuple[SolveResult, ...]:
        """Return a sample's solves of the design instances."""
        score = self.records[sample].high
        return score.results if score is not None else ()

    def mismatches(self) -> tuple[str, ...]:
        """Return a sentence per design instance of which two rules proved different things."""
        solves = [solve for sample in self.records for solve in self.solves_of(sample)]
        return contradictions(solves)

    def track_samples(self, requests: Sequence[Request]) -> None:
        """Write to MLflow what nothing more will become known of, now that `requests` are asked."""
        waiting = {request.id for request in requests if isinstance(request, SolveRequest)}
        waiting |= {request.sample or "" for request in requests if isinstance(request, TrialRequest)}
        for sample in self.search.samples:
            record = self.records[sample.id]
            self.records[sample.id] = record.model_copy(update={"sample": sample})
        self.tracker.samples([record for name, record in self.records.items() if name not in waiting])

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
            last_failure=next((c.failure for c in reversed(self.search.samples) if c.failure), None),
            spending=self.answering.spending(),
            elapsed_s=elapsed_s,
            remaining_s=elapsed_s * left / max(summary.samples_total, 1),
        )
