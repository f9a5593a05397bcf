"""What BiFE and its rivals cost on the same instances, and how good the rules are that they find.

Every search has the offline generator, the same budget of samples and the same instances; one evaluation compares their
rules with RPB. The first of `--seeds` seeds the searches, all of them SCIP's solves of held-out instances. One JSON
object a line: the cost of each search by part with its best F_LF and F_HF; seconds of work and CPU seconds in the
solver over those of BiFE as published and of BiFE by default; the time ratio of each rule to RPB. Times are seconds of
work (docs/explanation/searches.md).

With `--home` the same command goes on where it stopped. The defaults are the paper's scale, days on one core:
`--instances` and `--tuning-calls` scale what a rule costs BiFE and LLM4Branch, so reduce both alike.
`--searches "bife_default bife_unraced"`: BiFE by default, and the same without races and load correction.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bife_core
from bench import emit, home_of, kept, parse, rounded
from bife_core.extend import SEARCHES, EvaluationSummary, Generator, method_of
from bife_core.run.study.identity import VERSION

TUNER, PAPER = "llm4branch", "bife"
DEFAULT, UNRACED = "bife_default", "bife_unraced"
"""BiFE as it is by default, and the same search with every rule solved to the end on the clock."""


def main() -> None:
    options = parse(
        __doc__, instances=20, samples=100, decisions=1000, held_out=20, time_limit=60.0, tuning_calls=100,
        workers=1, home=None, searches=" ".join([DEFAULT, UNRACED, *SEARCHES]),
    )  # fmt: skip
    with home_of(options.home) as home:
        for family in options.families:
            configs = {method: configured(family, method, options) for method in SEARCHES}
            configs[DEFAULT] = bife_core.with_overrides(configs[PAPER], defaults())
            unraced = {"high.race": False, "high.load_correction": False}
            configs[UNRACED] = bife_core.with_overrides(configs[DEFAULT], unraced)
            spent: dict[str, dict[str, Any]] = {}
            for method in options.searches.split():
                spent[method] = once(method, configs[method], home, lambda _, *to: row_of(searched(*to)))
                emit({"family": family, "search": method} | spent[method])
                for base in (PAPER, DEFAULT):
                    if base in spent and method != base:
                        emit({"family": family, f"{method}_over_{base}": over(spent[method], spent[base])})
            rules = [method_of(row["rule"], name) for name, row in spent.items() if row["rule"]]
            if rules:
                summary = side_by_side(rules, configured(family, PAPER, options), home)
                compared = {summary.methods[row.method].identity: row for row in summary.comparisons}
                for rule in rules:
                    emit({"family": family, "search": rule.name} | beside_rpb(compared[rule.identity]))


def configured(family: str, method: str, options: Any) -> bife_core.PipelineConfig:
    scale = {
        "instances.benchmark": family,
        "instances.size": options.size,
        "collection.decisions": options.decisions,
        "search.algorithm": method,
        "search.samples": options.samples,
        "search.initial": min(16, options.samples),
        "search.seed": options.seeds[0],
        "high.instances": options.instances,
        "high.time_limit_s": options.time_limit,
        "evaluation.instances": options.held_out,
        "evaluation.seeds": tuple(options.seeds),
        "runner.workers": options.workers,
    }
    if method == TUNER:
        initial = max(1, min(10, options.tuning_calls // 4))
        tuning = {"screening_limit_s": options.time_limit, "tuning_calls": options.tuning_calls}
        scale["search.options"] = tuning | {"tuning_initial": initial}
    return bife_core.with_overrides(bife_core.preset("paper"), scale)


def defaults() -> dict[str, Any]:
    """Return how the product's settings of the search and of F_HF differ from the published ones."""
    default, published = bife_core.PipelineConfig(), bife_core.preset("paper")
    return {
        f"{section}.{name}": value
        for section in ("search", "high")
        for name, value in getattr(default, section)
        if value != getattr(getattr(published, section), name)
    }


def once(
    name: str, config: bife_core.PipelineConfig, home: Path, search: Callable[..., Any]
) -> dict[str, Any]:
    """Return the row that an earlier run kept of a search, or run it and keep what it returns."""
    identity = f"{config.fingerprint()}-{VERSION}{SEARCHES.revision(config.search.algorithm)}"
    file = home / "searches" / f"{name.partition(',')[0]}-{identity}.json"
    return dict(kept(file, lambda: search(name, config, home)))


def searched(
    config: bife_core.PipelineConfig,
    home: Path,
    generator: Callable[[bife_core.Decisions], Generator] | None = None,
) -> bife_core.SearchOutcome:
    """Run a search, by a generator made from its decisions if one is given; one that was stopped goes on."""
    benchmark = bife_core.open_benchmark(config.instances, home / "instances")
    search = SEARCHES.find(config.search.algorithm)(config.search)
    count = config.high.instances
    design = benchmark.instances("design", count + search.training_instances)
    with bife_core.WorkerPool(config.runner.workers) as pool:
        decisions, folder, writing = None, home / "decisions" / benchmark.name, None
        if search.reads_decisions:
            collection = config.collection.model_copy(update={"nodes": search.sees_nodes})
            decisions = bife_core.collect_decisions(benchmark, collection, folder, pool, solver=config.solver)
            writing = generator and generator(bife_core.Decisions.load(decisions.path))
        study = bife_core.create_study(
            config,
            design[:count],
            decisions,
            store=bife_core.Store(home),
            benchmark=config.instances.label,
            training=(*design[count:], *design),
            generator=writing,
            workers=pool,
        )
        return study.run(callbacks=[lambda study, _: print(benchmark.name, study, file=sys.stderr)])


def row_of(result: bife_core.SearchOutcome) -> dict[str, Any]:
    cost, best = result.cost, result.best
    counts = {
        "samples": cost.samples,
        "calls": cost.calls,
        "solved": cost.solved,
        "failures": result.failures,
    }
    names = {"best": "id", "rule": "source", "f_lf": "f_lf", "f_hf": "f_hf"}
    of_best = {key: best and getattr(best, of) for key, of in names.items()}
    return counts | rounded(cost.metrics(), 1) | of_best


def over(cost: dict[str, Any], base: dict[str, Any]) -> dict[str, float]:
    return {name: round(cost[name] / base[name], 2) for name in ("work_s", "solver_s")}


def side_by_side(
    methods: Sequence[bife_core.Method], config: bife_core.PipelineConfig, home: Path
) -> EvaluationSummary:
    protocol = config.evaluation
    return bife_core.compare(
        methods,
        bife_core.open_benchmark(config.instances, home / "instances").instances("test", protocol.instances),
        settings=config.solver,
        **protocol.model_dump(include={"baseline", "seeds", "metric", "time_limit_s"}),
        workers=config.runner.workers,
        store=home,
    )


def beside_rpb(comparison: Any) -> dict[str, Any]:
    """Return how a method compares with RPB, from one of the `comparisons` of an evaluation."""
    row = rounded({name: getattr(comparison, name) for name in ("ratio", "ci_low", "ci_high")})
    as_it_is = ("metric", "finding", "wins", "instances", "groups", "proofs")
    facts = {name: getattr(comparison, name) for name in as_it_is}
    facts["proofs_rpb"] = comparison.baseline_proofs
    return row | rounded({"p_adjusted": comparison.p_adjusted}, 4) | facts


if __name__ == "__main__":
    main()
