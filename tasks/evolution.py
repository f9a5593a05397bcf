"""The identity of an evolution, what it has spent, and what of it goes to disk and to MLflow."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bife_core.config import PipelineConfig
from bife_core.decisions.collecting import CollectionSummary
from bife_core.generators import Account, Spending
from bife_core.search import GenerationSummary, Sample, SearchCost
from tasks import reports
from tasks.clock import SearchClock
from tasks.collection import decisions_dataset, instances_dataset
from tasks.generation import generator_identity
from tasks.home import project_home
from tasks.locks import alone_at
from tasks.progress import note_listener
from tasks.records import InstanceSet, SampleRecord
from tasks.storage import recall, share
from tasks.tracking.evolution import EvolutionTracker
from tasks.tracking.stages import flat

_VERSION: Final = 1
"""Raise this when the same configuration would no longer give the same search."""


def _facts(
    config: PipelineConfig,
    decisions: CollectionSummary | None,
    design: InstanceSet,
    training: InstanceSet | None,
) -> dict[str, Any]:
    facts = {
        "benchmark": config.instances.label,
        "search": config.search.in_use(),
        "low": config.low.model_dump(mode="json"),
        "high": config.high.model_dump(mode="json"),
        "generator": generator_identity(config.generator),
        "design": design.content,
    }
    facts |= {"decisions": decisions.digest} if decisions is not None else {}
    return facts | ({"training": training.content} if training is not None else {})


def evolution_key(
    config: PipelineConfig,
    decisions: CollectionSummary | None,
    design: InstanceSet,
    training: InstanceSet | None = None,
) -> str:
    """Return the identity of an evolution: equal settings and equal data give equal keys, on any machine.

    Settings of another search than the configured one are no part of it, nor is data the search does not read.

    The number of workers is no part of it. Of a model API the model, its temperature and the prompts count,
    its address and key do not.

    Raises
    ------
    GeneratorError
        If the environment's settings of the model API cannot be used.
    """
    text = json.dumps({"version": _VERSION, **_facts(config, decisions, design, training)}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@contextmanager
def alone_in_evolution(key: str) -> Iterator[None]:
    """Keep other processes from running the same evolution at the same time: they wait, and then find it done.

    What another machine has of it is fetched first, and what this one has is given to others at the end, whatever end.
    """
    directory = evolution_directory(key)
    with alone_at(project_home().locks / f"evolution-{key}.lock", f"the evolution {key}", note_listener()):
        recall(directory)
        try:
            yield
        finally:
            share(directory, changing=True)


def evolution_directory(key: str) -> Path:
    """Return where the files of an evolution lie."""
    directory = project_home().runs / key
    directory.mkdir(exist_ok=True)
    return directory


def calls_directory(key: str) -> Path:
    """Return where the calls to a model API are recorded."""
    return project_home().runs / key / "calls"


def track(
    config: PipelineConfig,
    key: str,
    decisions: CollectionSummary | None,
    design: InstanceSet,
    training: InstanceSet | None = None,
) -> EvolutionTracker:
    """Return the writer to the evolution's MLflow run, found or made.

    Raises
    ------
    TrackingError
        If the store cannot be reached.
    """
    facts = _facts(config, decisions, design, training)
    tracker = EvolutionTracker(
        key,
        f"{config.instances.label} {config.search.method} {config.generator.kind} seed {config.search.seed}",
        flat(facts) | flat({"instances": config.instances.model_dump(mode="json")}),
        tags={"benchmark": config.instances.label, "search": config.search.method},
    )
    tracker.describe(prompts_used=config.generator.kind == "openai")
    read = [decisions_dataset(config.instances, decisions)] if decisions is not None else []
    read += [instances_dataset(chosen) for chosen in (design, training) if chosen is not None]
    tracker.datasets(read)
    return tracker


def account(key: str) -> Account:
    """Return the account that the calls of an evolution are on, those of interrupted earlier runs included."""
    return Account(calls_directory(key))


def clock(key: str) -> SearchClock:
    """Return the clock of an evolution."""
    return SearchClock(evolution_directory(key) / "clock.json")


def generation_metrics(
    summary: GenerationSummary,
    records: Sequence[SampleRecord],
    samples: Sequence[Sample],
    spent: Spending,
) -> dict[str, float | None]:
    """Return the points a generation adds to the run's curves."""
    solved = [sample.f_hf for sample in samples if sample.f_hf is not None]
    return {
        "samples": float(summary.samples_total),
        "failures": float(summary.failures_total),
        "failure_rate": summary.failures_total / max(summary.samples_total, 1),
        "best_f_lf": summary.best_f_lf,
        "mean_f_lf": summary.mean_f_lf,
        "best_f_hf": summary.best_f_hf,
        "mean_f_hf": sum(solved) / len(solved) if solved else None,
        "population": float(summary.n_alive),
        "elites": float(summary.n_elites),
        "tau": summary.tau,
        "solved": float(len(solved)),
        "solve_cpu_s": sum(record.high.cpu_s for record in records if record.high is not None),
        "calls": float(spent.calls),
        "prompt_tokens": float(spent.prompt_tokens),
        "completion_tokens": float(spent.completion_tokens),
        "cost_usd": float(spent.cost_usd) if spent.cost_usd is not None else None,
    }


def record_generation(
    tracker: EvolutionTracker,
    directory: Path,
    summary: GenerationSummary,
    records: Sequence[SampleRecord],
    samples: Sequence[Sample],
    spent: Spending,
) -> None:
    """Write a completed generation to disk and to MLflow."""
    files = reports.write_search(directory, samples)
    tracker.generation(
        summary.generation,
        generation_metrics(summary, records, samples, spent),
        rows=reports.sample_rows(samples),
        files=[path for path in files if path.name != reports.SAMPLES],
    )
    share(directory, changing=True)


def record_outcome(
    tracker: EvolutionTracker,
    directory: Path,
    best: Sample | None,
    samples: Sequence[Sample],
    summaries: Sequence[GenerationSummary],
    cost: SearchCost,
    trials: Sequence[dict[str, Any]] = (),
    ended_by: str | None = None,
) -> SearchCost:
    """Write the best rule with its figures and the cost to disk and to MLflow, and end the run; once.

    Parameters
    ----------
    ended_by : str or None
        Which limit of the budget ended the search early; its run is then left to be taken up again.

    Returns
    -------
    SearchCost
        The one on record: that of the run which ended the search, not of one that only found it ended.
    """
    if tracker.complete and (best is None or (directory / reports.BEST_RULE).is_file()):
        return reports.read_cost(directory) or cost
    if ended_by is not None:
        # The generation that was cut short is on disk only: MLflow takes it when it is complete.
        reports.write_search(directory, samples)
    files = reports.write_best(directory, best, samples, summaries) if best is not None else []
    files += reports.write_cost(directory, cost) + reports.write_trials(directory, trials)
    outcome = {"best_sample": best.id, "best_sha": best.sha or ""} if best else {"best_sample": "none"}
    metrics: dict[str, float | None] = {**cost.metrics()}
    if best is not None:
        metrics |= {"final_f_lf": best.f_lf, "final_f_hf": best.f_hf}
    note = f"{ended_by}\n\n{_abstract(best)}" if ended_by else _abstract(best)
    tags = outcome | {"ended_by": ended_by or "search.samples", "mlflow.note.content": note}
    tracker.finish(files, metrics, tags, early=ended_by is not None)
    return cost


def _abstract(best: Sample | None) -> str:
    """Return what stands on the page of the run."""
    if best is None:
        return "No sampled rule was of use; the reasons are in samples.json."
    return f"{reports.abstract(best)}\n\nAll samples, best first: samples.json"
