"""Tasks that record strong-branching decisions and write that to MLflow."""

from __future__ import annotations

from typing import Any, Final

from prefect import task

from bife_core.config import CollectionConfig, InstancesConfig, PipelineConfig, RunnerConfig
from bife_core.decisions.collecting import CollectionSummary, collect_decisions
from bife_core.evaluation.precheck import Precheck, precheck
from bife_core.fidelity.load_correction import measure_reference
from bife_core.values import digest_of
from tasks.home import project_home
from tasks.instances import benchmark
from tasks.states import TRIED_AGAIN, told
from tasks.stores import alone_at, home_store, note_listener, progress_listener
from tasks.tracking import Record, store, track_record
from tasks.tracking.store import flat
from tasks.workers import worker_pool


@task(name="collect", task_run_name="collect {config.decisions} decisions", **TRIED_AGAIN)
def collect(
    instances: InstancesConfig,
    config: CollectionConfig,
    runner: RunnerConfig,
) -> CollectionSummary:
    """Record strong-branching decisions.

    What an instance gave is on disk before it is used, so running this again solves only what is missing.

    Raises
    ------
    DecisionsError
        If no instance gave a decision.
    """
    home, name = project_home(), f"{instances.label}-{instances.fingerprint()}"
    directory = home.decisions / name
    with alone_at(f"collection {name}", f"the collection for {instances.label}"):
        return collect_decisions(
            benchmark(instances),
            config,
            directory,
            worker_pool(runner),
            progress_listener(),
            note_listener(),
        )


@task(name="track collection", task_run_name="write the collection to MLflow", **TRIED_AGAIN)
def track_collection(instances: InstancesConfig, config: CollectionConfig, summary: CollectionSummary) -> str:
    """Write a collection to MLflow and return the id of its run."""
    facts = [instances.model_dump(mode="json"), config.model_dump(mode="json"), summary.digest]
    key = digest_of(facts)[:16]
    measured = {
        "decisions": float(summary.decisions),
        "candidates": float(summary.candidates),
        "tie_share": summary.tie_share,
        "pruned_share": summary.pruned_share,
        "tightenable_share": summary.tightenable_share,
        "instances": float(len(summary.instances)),
        "failures": float(len(summary.failures)),
    }
    record = Record(
        experiment=store.COLLECTION,
        key=key,
        name=f"{instances.label} {summary.decisions} decisions",
        params=flat({"instances": facts[0], "collection": facts[1]}) | {"decisions_digest": summary.digest},
        metrics=measured,
        tags={"kind": "collection", "benchmark": instances.label},
        datasets=(decisions_dataset(instances, summary),),
        tables={"instances.json": tuple({"instance": name} for name in summary.instances)},
    )
    return track_record(project_home().runs / f"collection-{key}", record)


def decisions_dataset(instances: InstancesConfig, summary: CollectionSummary) -> dict[str, Any]:
    """Describe recorded decisions as an MLflow dataset."""
    return {
        "name": f"{instances.label}-decisions",
        "digest": summary.digest,
        "source": str(summary.path),
        "profile": {"decisions": summary.decisions, "candidates": summary.candidates},
        "context": "collection",
    }


MODELS: Final = 3
"""Models that are looked at."""


@task(name="look ahead", task_run_name="look at RPB's share in branching", **TRIED_AGAIN)
def look_ahead(config: PipelineConfig) -> Precheck:
    """Return what a rule can save on the first design models.

    The solves are those the search measures its rules by, so that they are paid for once.

    Raises
    ------
    BifeError
        If the models cannot be used, or the machine cannot solve at all.
    """
    instances = benchmark(config.instances).instances("design", min(MODELS, config.high.instances))
    pool, solves = worker_pool(config.runner), home_store()
    reference = measure_reference(instances, config.high, pool, solves, note=note_listener())
    found = precheck(reference.results)
    return told(found, found.sentence)
