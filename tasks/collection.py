"""Tasks that prepare instances, record strong-branching decisions on them and write that to MLflow."""

from __future__ import annotations

from statistics import fmean
from typing import Final

from prefect import task

from bife_core.benchmarks.base import Instance, Split
from bife_core.config import InstancesConfig, PipelineConfig
from bife_core.decisions.collecting import CollectionSummary, collect_decisions
from bife_core.estimate import Estimate, estimate
from bife_core.evaluation.precheck import time_sentence
from bife_core.fidelity.solving import Solving, measure_reference
from bife_core.search.config import SEARCHES
from bife_core.study import content_of
from bife_core.values import Value, digest_of, flat
from tasks.home import project_home
from tasks.instances import benchmark
from tasks.states import TRIED_AGAIN, with_message
from tasks.stores import alone_at, home_store, observer
from tasks.tracking import store
from tasks.tracking.subscriber import Record, track_record
from tasks.workers import worker_pool

PRECHECKED: Final = 3
"""Instances that the pre-check solves."""
_MEASURED: Final = {"decisions", "candidates", "tie_share", "pruned_share", "tightenable_share"}


class InstanceSet(Value):
    """The instances of one split, in order, and what a reader of results must know about them.

    `use` is which use of test instances is the next one that may promote a rule, 1 for the first; 0 if none may.
    """

    label: str
    instances: tuple[Instance, ...]
    notes: tuple[str, ...] = ()
    use: int = 0

    @property
    def content(self) -> str:
        """Hash of the instances in their order, wherever they lie."""
        return content_of(self.instances)


@task(name="instances", task_run_name="instances {split}")
def prepare_instances(config: InstancesConfig, split: Split, count: int) -> InstanceSet:
    """Generate or find the instances of a split; a benchmark without usable instances is a `BifeError`."""
    opened = benchmark(config)
    chosen = tuple(opened.instances(split, count))
    return InstanceSet(label=opened.name, instances=chosen, notes=opened.notes)


@task(name="collect", task_run_name="collect {config.collection.decisions} decisions", **TRIED_AGAIN)
def collect(config: PipelineConfig) -> CollectionSummary:
    """Record expert samples, on disk before they are used; raise `DecisionsError` if no instance gave one."""
    instances = config.instances
    name, options = f"{instances.label}-{instances.fingerprint()}", config.collection
    if getattr(SEARCHES.find(config.search.method), "sees_nodes", False):
        options = options.model_copy(update={"nodes": True})
    with alone_at(f"collection {name}", f"the collection for {instances.label}"):
        return collect_decisions(
            benchmark(instances),
            options,
            project_home().decisions / name,
            worker_pool(config.runner),
            observer().progress,
            observer().note,
            config.solver,
        )


@task(name="track collection", task_run_name="write the collection to MLflow", **TRIED_AGAIN)
def track_collection(config: PipelineConfig, summary: CollectionSummary) -> str:
    """Write a collection to MLflow and return the id of its run."""
    label = config.instances.label
    settings = config.model_dump(mode="json", include={"instances", "solver", "collection"})
    key = digest_of([*settings.values(), summary.digest])[:16]
    record = Record(
        experiment=store.COLLECTION,
        key=key,
        name=f"{label} {summary.decisions} decisions",
        params=flat(settings) | {"decisions_digest": summary.digest},
        metrics={
            **summary.model_dump(include=_MEASURED),
            "instances": len(summary.instances),
            "failures": len(summary.failures),
        },
        tags={"kind": "collection", "benchmark": label},
        tables={"instances.json": tuple({"instance": name} for name in summary.instances)},
    )
    return track_record(project_home().runs / f"collection-{key}", record)


def solving(config: PipelineConfig) -> Solving:
    """Return how this home solves instances for F_HF."""
    return Solving(config.high, config.solver, worker_pool(config.runner), home_store(), observer().note)


@task(name="pre-check", task_run_name="measure where SCIP's time goes", **TRIED_AGAIN)
def precheck(config: PipelineConfig) -> tuple[str, Estimate | None]:
    """Do `look`, by solves that tuning and the search make too."""
    found = look(config)
    return with_message(found, found[0])


def look(config: PipelineConfig) -> tuple[str, Estimate | None]:
    """Return where SCIP's time goes on the first design instances, and how long a run takes; None without a solve."""
    opened = benchmark(config.instances)
    instances = opened.instances("design", min(PRECHECKED, config.high.instances))
    results = measure_reference(instances, solving(config)).results
    known, sentence = [one for one in results if one is not None], time_sentence(results)
    if not known:
        return sentence, None
    parts = {split: len(some) for split, some in getattr(opened.opened, "parts", {}).items()}  # of a folder
    cut_short, cores = not all(one.finished for one in known), worker_pool(config.runner).workers
    expected = estimate(config, fmean(one.cpu_s for one in known), cores, parts, cut_short)
    return f"{sentence} A run takes {expected.sentence}.", expected
