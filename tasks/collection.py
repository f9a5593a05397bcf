"""Tasks that make the data of an evolution: instances, and strong-branching decisions on them."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any

from prefect import task

from bife_core.benchmarks.base import Benchmark, Split
from bife_core.benchmarks.opening import open_benchmark
from bife_core.config import CollectionConfig, InstancesConfig, RunnerConfig
from bife_core.decisions.collecting import CollectionSummary, collect_decisions
from tasks.home import project_home
from tasks.locks import alone_at
from tasks.policy import TRIED_AGAIN
from tasks.progress import note_listener, progress_listener
from tasks.records import InstanceRef, InstanceSet
from tasks.storage import address_of, recall, share
from tasks.tracking import store
from tasks.tracking.stages import Stage, flat, track_stage
from tasks.workers import worker_pool


@lru_cache(maxsize=8)
def benchmark(config: InstancesConfig) -> Benchmark:
    """Return the benchmark a configuration names; a folder is screened once per process."""
    return open_benchmark(config, project_home().instances)


@task(name="instances", task_run_name="instances {split}")
def prepare_instances(config: InstancesConfig, split: Split, count: int) -> dict[str, Any]:
    """Generate or find the instances of a split and return an `InstanceSet` as JSON.

    Raises
    ------
    ConfigError, InstanceError
        If there is no such benchmark, or it has no usable model.
    """
    opened = benchmark(config)
    chosen = tuple(InstanceRef.of(instance) for instance in opened.instances(split, count))
    return InstanceSet(label=opened.name, split=split, instances=chosen, notes=opened.notes).model_dump(
        mode="json"
    )


@task(
    name="collect",
    task_run_name="collect {config.decisions} decisions",
    **TRIED_AGAIN,
)
def collect(
    instances: InstancesConfig,
    config: CollectionConfig,
    runner: RunnerConfig,
) -> dict[str, Any]:
    """Record strong-branching decisions and return a `CollectionSummary` as JSON.

    What an instance gave is on disk before it is used, so running this again solves only what is missing.

    Raises
    ------
    DecisionsError
        If no instance gave a decision.
    """
    home, name = project_home(), f"{instances.label}-{instances.fingerprint()}"
    lock = home.locks / f"collection-{name}.lock"
    directory = home.decisions / name
    with alone_at(lock, f"the collection for {instances.label}", note_listener()):
        recall(directory)
        summary = collect_decisions(
            benchmark(instances),
            config,
            directory,
            worker_pool(runner),
            progress_listener(),
            note_listener(),
        )
        share(directory)
    return summary.model_dump(mode="json")


@task(
    name="track collection",
    task_run_name="write the collection to MLflow",
    **TRIED_AGAIN,
)
def track_collection(instances: InstancesConfig, config: CollectionConfig, summary: CollectionSummary) -> str:
    """Write a collection to MLflow and return the id of its run."""
    facts = [instances.model_dump(mode="json"), config.model_dump(mode="json"), summary.digest]
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    measured = {
        "decisions": float(summary.decisions),
        "candidates": float(summary.candidates),
        "tie_share": summary.tie_share,
        "instances": float(len(summary.instances)),
        "failures": float(len(summary.failures)),
    }
    stage = Stage(
        experiment=store.COLLECTION,
        key=key,
        name=f"{instances.label} {summary.decisions} decisions",
        params=flat({"instances": facts[0], "collection": facts[1]}) | {"decisions_digest": summary.digest},
        metrics=measured,
        tags={"kind": "collection", "benchmark": instances.label},
        datasets=(decisions_dataset(instances, summary),),
        tables={"instances.json": tuple({"instance": name} for name in summary.instances)},
    )
    return track_stage(project_home().runs / f"collection-{key}", stage)


def decisions_dataset(instances: InstancesConfig, summary: CollectionSummary) -> dict[str, Any]:
    """Describe recorded decisions as an MLflow dataset."""
    return {
        "name": f"{instances.label}-decisions",
        "digest": summary.digest,
        "source": address_of(summary.path),
        "profile": {"decisions": summary.decisions, "candidates": summary.candidates},
        "context": "collection",
    }


def instances_dataset(chosen: InstanceSet) -> dict[str, Any]:
    """Describe a set of instances as an MLflow dataset."""
    return {
        "name": f"{chosen.label}-{chosen.split}",
        "digest": chosen.content,
        "source": str(chosen.instances[0].path.parent),
        "profile": {"instances": len(chosen.instances)},
        "context": chosen.split,
    }
