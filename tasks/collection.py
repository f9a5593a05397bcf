"""Tasks that prepare instances, record strong-branching decisions on them and write that to MLflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from prefect import task

from bife_core.benchmarks.base import Instance, Split
from bife_core.config import InstancesConfig, PipelineConfig
from bife_core.decisions.collecting import CollectionSummary, collect_decisions
from bife_core.evaluation.config import EvaluationConfig
from bife_core.evaluation.measuring import interleaved, labelled
from bife_core.evaluation.precheck import Precheck, gain
from bife_core.fidelity.solving import Solving, measure_reference
from bife_core.methods.base import RPB
from bife_core.methods.loading import load_method
from bife_core.scip.solver import SolverConfig
from bife_core.search.config import SEARCHES
from bife_core.solves import run_solves
from bife_core.study import content_of
from bife_core.values import Value, digest_of, flat
from tasks.home import project_home
from tasks.instances import benchmark
from tasks.states import TRIED_AGAIN, with_message
from tasks.stores import alone_at, home_store, observer
from tasks.tracking import store
from tasks.tracking.subscriber import Record, track_record
from tasks.workers import worker_pool

GENERAL: Final = "general,budget=0.6,once"
"""The rule that an instance can have without a search, after a budget for RPB."""

PRECHECKED: Final = 3
"""Instances that the pre-check solves."""
_MEASURED: Final = {"decisions", "candidates", "tie_share", "pruned_share", "tightenable_share"}
_LOOK_S: Final = 15.0
"""CPU seconds of a solve of the first look, which is to end within two minutes."""


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


@task(name="pre-check", task_run_name="measure RPB's share in branching", **TRIED_AGAIN)
def precheck(config: PipelineConfig) -> Precheck:
    """Return what a rule can save on the first design instances, by the solves that the search measures rules by."""
    instances = benchmark(config.instances).instances("design", min(PRECHECKED, config.high.instances))
    found = Precheck.of(measure_reference(instances, solving(config)).results)
    return with_message(found, found.sentence)


def first_look(instances: Sequence[Instance]) -> tuple[Precheck, str]:
    """Return what a rule can save on some instances, and in a sentence what the general rule saves there already.

    RPB and the general rule are interleaved, under SCIP's default settings and a limit shorter than a search has:
    another first look reuses these solves, a run does not.
    """
    general, protocol = load_method(GENERAL), EvaluationConfig(seeds=(0,), time_limit_s=_LOOK_S)
    solved = run_solves(
        interleaved(labelled([load_method(RPB), general]), instances, protocol, SolverConfig()),
        home_store(),
        worker_pool(),
        warm_up_s=protocol.warm_up_s,
        note=observer().note,
        machine_may_fail=True,
    )
    found = {(one.method, one.job.instance.digest): one.result for one in solved}
    of_rpb, own = ([found[name, one.digest] for one in instances] for name in (RPB, general.name))
    names = [one.name for one in instances]
    return Precheck.of(of_rpb), gain(general.name, list(zip(names, own, of_rpb, strict=True)), _LOOK_S)
