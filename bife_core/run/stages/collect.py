"""The first stages: where SCIP's time goes, and strong-branching decisions on the collection instances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Final

from bife_core.base.values import as_params, digest_of
from bife_core.base.wording import counted
from bife_core.measure.context import choose_cost, measure_reference
from bife_core.measure.decisions.collection import CollectionSummary, collect_decisions
from bife_core.run.config import PipelineConfig
from bife_core.run.estimate import Estimate, estimate
from bife_core.run.stages.records import COLLECTION, Record
from bife_core.run.stages.results import CollectionResult, Precheck
from bife_core.run.stages.runtime import Runtime
from bife_core.search.config import SEARCHES
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.cost import TICK_S
from bife_core.solver.scip.solve import SolveResult

PRECHECKED: Final = 3
_MEASURED: Final = {"decisions", "candidates", "tie_share", "pruned_share", "tightenable_share"}
_PARTS: Final = ("presolving", "separation", "heuristics", "propagation", "branching")
"""What SCIP has clocks of."""


def precheck(config: PipelineConfig, runtime: Runtime) -> Precheck:
    """Return where SCIP's time goes, by solves that a run makes anyway, and how long a run takes."""
    opened = runtime.benchmark(config.instances)
    instances = opened.instances("design", min(PRECHECKED, config.high.instances))
    results = measure_reference(instances, runtime.solving(config)).results
    solves, sentence = [solve for solve in results if solve is not None], time_sentence(results)
    if not solves:
        return Precheck(sentence=sentence)
    parts = {split: len(members) for split, members in getattr(opened.opened, "parts", {}).items()}
    cut_short, cores = not all(solve.finished for solve in solves), runtime.workers(config.runner).workers
    before, split = tuned_before(solves) if config.tune.seconds else (0.5, "")
    mean_s = fmean(solve.cpu_s for solve in solves)
    expected: Estimate = estimate(config, mean_s, cores, parts, cut_short, before)
    cost, why = choose_cost(config.high, solves)
    sentences = filter(None, (sentence, split, why, f"A run takes {expected.sentence}."))
    return Precheck(sentence=" ".join(sentences), cost=cost, before=before, expected=expected)


def tuned_before(solves: Sequence[SolveResult]) -> tuple[float, str]:
    """Return the share of the tuning's time that comes before the search for rules, and a sentence that says why.

    Until SCIP branches no rule helps: the share of that in all time is tuned first, half of it at the least, since
    settings change what is left for a rule, and 0.9 at the most.
    """
    cpu_s = math.fsum(solve.cpu_s for solve in solves)
    root = math.fsum(solve.cpu_s if solve.root_s is None else solve.root_s for solve in solves) / cpu_s
    before = round(min(max(root, 0.5), 0.9), 1)
    if before == 0.5:
        return before, ""
    return before, (
        f"{100 * root:.0f} % of it is over before SCIP branches, where no rule helps, so settings, rows on demand and "
        f"starts have {before:g} of the tuning's time before the search for rules."
    )


def time_sentence(results: Sequence[SolveResult | None]) -> str:
    """Return the share of each part of SCIP in the CPU time of RPB's solves; it promises no saving."""
    solves = [result for result in results if result is not None]
    solved = f"{len(solves)} of {counted(len(results), 'instance')}"
    timed = [solve for solve in solves if solve.presolving_s is not None and solve.cpu_s > 0]
    if not timed:
        return f"Where SCIP's time goes is not known: RPB has a result on {solved}."
    parts_s = {part: math.fsum(getattr(solve, f"{part}_s") or 0.0 for solve in timed) for part in _PARTS}
    cpu_s, clocks_s = math.fsum(solve.cpu_s for solve in timed), math.fsum(parts_s.values())
    if cpu_s < 50 * TICK_S:  # which these clocks go on by
        return f"Solves are too short to say where SCIP's time goes: {cpu_s:.2f} CPU seconds on {solved}."
    every_s = max(cpu_s, clocks_s)  # heuristics propagate: two clocks count it
    parts = ", ".join(f"{name} {100 * seconds / every_s:.0f} %" for name, seconds in parts_s.items())
    rest = 100 * (1.0 - clocks_s / every_s)
    return f"SCIP's CPU time goes into {parts}, and LPs at nodes and the rest {rest:.0f} % ({solved}, RPB branches)."


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
    few = (
        f"{summary.decisions} of {wanted} decisions could be recorded on {len(summary.instances)} instances."
    )
    short = (few,) if summary.decisions < wanted else ()
    notes = runtime.noted((*short, *summary.failures, *summary.notes))
    return CollectionResult(summary=summary, run=run, notes=notes)


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
