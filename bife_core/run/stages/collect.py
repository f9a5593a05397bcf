"""Strong-branching decisions on the collection instances."""

from __future__ import annotations

from typing import Final

from bife_core.base.values import as_params, digest_of
from bife_core.base.wording import counted
from bife_core.measure.decisions.collection import CollectionSummary, collect_decisions
from bife_core.run.config import PipelineConfig
from bife_core.run.stages.records import COLLECTION, Record
from bife_core.run.stages.results import CollectionResult
from bife_core.run.stages.runtime import Runtime
from bife_core.search.config import SEARCHES
from bife_core.solver.methods.configuration import Configuration

_MEASURED: Final = {"decisions", "candidates", "tie_share", "pruned_share", "tightenable_share"}


def collect(config: PipelineConfig, runtime: Runtime, rest: Configuration | None = None) -> CollectionResult:
    """Record expert samples, unless an earlier run did; a `DecisionsError` says that no instance gave one.

    The models get start and inequalities of the `rest` of a configuration.
    """
    wanted = config.collection.decisions
    runtime.observer.stage("collection", f"{wanted} decisions on {config.instances.label}")
    summary = runtime.conductor.step(
        "collect", f"collect {wanted} decisions", lambda: _recorded(config, runtime, rest)
    )
    label = config.instances.label
    settings = config.model_dump(mode="json", include={"instances", "solver", "collection"})
    key = digest_of([*settings.values(), summary.digest])[:16]
    record = Record(
        experiment=COLLECTION,
        key=key,
        name=f"{label} {summary.decisions} decisions",
        params=as_params(settings) | {"decisions_digest": summary.digest},
        metrics={
            **summary.model_dump(include=_MEASURED),
            "instances": len(summary.instances),
            "failures": len(summary.failures),
        },
        tags={"kind": "collection", "benchmark": label},
        tables={"instances.json": tuple({"instance": name} for name in summary.instances)},
    )
    run = runtime.record(f"collection-{key}", record)
    short = (_short(config, summary),) if summary.decisions < wanted else ()
    notes = runtime.noted((*short, *summary.failures, *summary.notes))
    return CollectionResult(summary=summary, run=run, notes=notes)


def _short(config: PipelineConfig, summary: CollectionSummary) -> str:
    """Say how few decisions were recorded, and what more would take."""
    used, most = len(summary.instances), config.collection.max_instances
    more = "more instances" if used < most else f"a higher collection.max_instances than {most}"
    return (
        f"{summary.decisions:,} of {config.collection.decisions:,} decisions could be recorded on "
        f"{counted(used, 'instance')}; {more} would give more."
    )


def _recorded(config: PipelineConfig, runtime: Runtime, rest: Configuration | None) -> CollectionSummary:
    instances = config.instances
    name, options = f"{instances.label}-{instances.fingerprint()}", config.collection
    if getattr(SEARCHES.find(config.search.algorithm), "sees_nodes", False):
        options = options.model_copy(update={"nodes": True})
    with runtime.alone(f"collection {name}", f"the collection for {instances.label}"):
        return collect_decisions(
            runtime.benchmark(instances),
            options,
            runtime.home.decisions / name,
            runtime.workers(config.runner),
            runtime.observer.progress,
            runtime.observer.note,
            config.solver,
            rest,
        )
