"""Rules found by searches beside reference rules, SCIP's own and the free oracle, family by family.

Each of `--searches` searches without reference rules with the budget of the family's preset `quick`, the first of
`--seeds`, and SCIP set up as in the first of `--solvers`; `NAME,SETTING=VALUE,...` is a search with other settings,
such as `bife,low.tune=0`. Of the best it found validation chooses one, as in `bife run`. What they find is then
evaluated in the solver side by side with RPB, RPB tuned for as many CPU seconds of solves as the longest search took
(`tuned_rpb`), the family's reference rule, `--rules` (names or files) and pscost, on `--instances` held-out instances,
drawn by `--instances-seed`, with each of the `--seeds`, by the preset's limit and metric, at its size or at `--size`,
with SCIP set up in each way of `--solvers`: what helps under `paper` may not help under `default`. With `--oracle`
SCIP's full strong branching solves too: no rule that imitates it can be expected to do better than its CPU time without
what it spends in branching; a method's `share` is the fraction of that gap to RPB that it closes, in logarithms, over
the solves that strong branching finished, which needs many times the time of a rule.

One JSON object a line: the cost of each search, then for each method {family, size, solver, method, cpu_s, nodes,
branching, solved, solves, metric, ratio, ci_low, ci_high, p_adjusted, finding, wins, instances, proofs, share}: CPU
seconds and nodes are geometric means, `branching` the share of the time spent in it; `bench.tables` makes tables of
them. Everything is kept in `--store`, and the same command goes on where it was stopped.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bench import emit, home_of, parse
from bench.search_cost import Progress, row_of, searched_once
from bife_core.benchmarks.generated import open_benchmark
from bife_core.config import PipelineConfig
from bife_core.evaluation.comparing import Comparison
from bife_core.evaluation.metrics import method_table
from bife_core.evaluation.summary import EvaluationSummary, evaluate
from bife_core.fidelity.solving import Solving
from bife_core.methods.base import RPB, Method
from bife_core.methods.loading import load_method, method_of
from bife_core.presets import preset, with_overrides
from bife_core.rules import BENCHMARK_RULES
from bife_core.sandbox import WorkerPool
from bife_core.stats import ratio_interval
from bife_core.store import Store
from bife_core.tuning import tune_rpb

if TYPE_CHECKING:
    from flows.reporting.observer import Observer

ORACLE = "vanillafullstrong"


def main() -> None:
    options = parse(
        __doc__,
        instances=12,
        searches=["symbolic", "bife", "random"],
        rules=[],
        solvers=["default"],
        size="",
        samples=0,
        instances_seed=0,
        time_limit=0.0,
        oracle=False,
        store=None,
        workers=1,
    )
    with home_of(options.store) as home:
        os.environ["BIFE_HOME"] = str(home)  # before anything imports `tasks`, which reads it
        os.environ.pop("MLFLOW_TRACKING_URI", None)
        for family in options.families:
            config = configured(family, options)
            found, budget_s = list[Method](), 0.0
            for search in options.searches:
                row = searched_once(home, searched_by(search, config), found_and_chosen)
                emit({"family": family, "search": search} | row)
                budget_s = max(budget_s, row["solver_s"])
                if row["rule"] is not None:
                    method = method_of(row["rule"])
                    _, comma, budget = method.name.partition(",")
                    found.append(method.model_copy(update={"name": f"by {search}{comma}{budget}"}))
            if budget_s:
                found.append(tuned(config, budget_s, home))
            names = [*options.rules, *filter(None, [BENCHMARK_RULES.get(family)]), "pscost"]
            names += [ORACLE] if options.oracle else []
            known = {method.identity: method for method in [*found, *map(load_method, names)]}
            for solver in options.solvers:
                for row in compared(list(known.values()), held_out(config, solver, options.size), home):
                    emit(
                        {"family": family, "size": options.size or config.instances.size, "solver": solver}
                        | row
                    )


def configured(family: str, options: Any) -> PipelineConfig:
    """Return the settings of a family's searches and of the comparison."""
    limit = {"evaluation.time_limit_s": options.time_limit} if options.time_limit else {}
    samples: dict[str, object] = {}
    if options.samples:
        samples = {"search.samples": options.samples, "search.initial": min(16, options.samples)}
    return with_overrides(
        preset("quick", family),
        {
            "instances.benchmark": family,
            "instances.seed": options.instances_seed,
            "solver": options.solvers[0],
            "search.seed": options.seeds[0],
            "evaluation.instances": options.instances,
            "evaluation.seeds": tuple(options.seeds),
            "runner.workers": options.workers,
            **samples,
            **limit,
        },
    )


def searched_by(search: str, config: PipelineConfig) -> PipelineConfig:
    """Return the settings of one of `--searches`."""
    from flows.cli.options import assignment

    name, *settings = search.split(",")
    return with_overrides(config, {"search.method": name} | dict(map(assignment, settings)))


def found_and_chosen(config: PipelineConfig) -> dict[str, Any]:
    """Run a search and let validation choose; the text of what it chose is the line's `rule`."""
    from prefect import flow

    from flows.evolution import evolution
    from flows.operate.running import run
    from flows.validation import choose_final

    @flow(name="search and validation")
    def search(config: PipelineConfig) -> dict[str, Any]:
        found = evolution(config)
        path = found.best and choose_final(config, found, found.best)[1]
        return row_of(found) | {"rule": path and path.read_text(encoding="utf-8")}

    return run(cast("Observer", Progress(config)), search, config)


def tuned(config: PipelineConfig, budget_s: float, home: Path) -> Method:
    """Return RPB as tuned on the searches' design instances for as long as the longest of them solved."""
    design = open_benchmark(config.instances, home / "instances").instances("design", config.high.instances)
    with WorkerPool(config.runner.workers) as pool:
        found = tune_rpb(design, Solving(config.high, config.solver, pool, Store(home)), budget_s)
    emit({"family": config.instances.benchmark, "tuned_rpb": found.method.params, "found": found.sentence})
    return found.method


def held_out(config: PipelineConfig, solver: str, size: str) -> PipelineConfig:
    """Return the settings of a comparison under a way to set SCIP up, at the search's size if none is given."""
    sized = {"instances.size": size} if size else {}
    return with_overrides(config, {"solver": solver, **sized})


def compared(methods: list[Method], config: PipelineConfig, home: Path) -> Iterator[dict[str, Any]]:
    """Yield a line for each method: what it did, and how it compares with RPB."""
    benchmark = open_benchmark(config.instances, home / "instances")
    instances = benchmark.instances("test", config.evaluation.instances)
    with WorkerPool(config.runner.workers) as pool:
        summary = evaluate(
            methods,
            instances,
            config.evaluation,
            pool,
            Store(home),
            setting=config.instances.benchmark,
            solver=config.solver,
        )
    shares = oracle_shares(summary)
    wrong = {"mismatches": list(summary.mismatches)} if summary.mismatches else {}
    table = method_table(summary.frame, config.evaluation.metric).to_dict("index")
    comparisons = {one.method: one for one in summary.comparisons}
    for label in summary.methods:
        did = table[label]
        yield {
            "method": label,
            "cpu_s": round(float(did["time"]), 3),
            "nodes": round(float(did["nodes"]), 1),
            "branching": round(float(did["inference_share"]), 4),
            "solved": int(did["solved"]),
            "solves": int(did["solves"]),
            **(beside_rpb(comparisons[label]) if label in comparisons else {}),
            "share": shares.get(label),
            **wrong,
        }


def beside_rpb(one: Comparison) -> dict[str, Any]:
    """Return how a method compares with RPB."""
    return {
        "metric": one.metric,
        "ratio": round(one.ratio, 3),
        "ci_low": one.ci_low and round(one.ci_low, 3),
        "ci_high": one.ci_high and round(one.ci_high, 3),
        "p_adjusted": round(one.p_adjusted, 4),
        "finding": one.finding,
        "wins": one.wins,
        "instances": one.instances,
        "proofs": one.proofs,
    }


def oracle_shares(summary: EvaluationSummary) -> dict[str, float]:
    """Return which part of the free oracle's gain each method wins; nothing where there is none."""
    frame = summary.frame
    if ORACLE not in set(frame["method"]):
        return {}
    of_oracle = frame["method"] == ORACLE
    # What an oracle stopped at a limit would have needed is not known.
    cost = (frame["cpu_s"] - frame["branching_s"].where(of_oracle, 0.0)).where(~of_oracle | frame["solved"])
    costs = frame.assign(cost=cost).pivot_table("cost", ["instance", "seed"], "method").dropna()
    if ORACLE not in costs or costs.empty:
        return {}
    by_instance = {
        method: {str(name): solves.to_list() for name, solves in costs[method].groupby("instance")}
        for method in costs.columns
    }
    gains = {
        method: math.log(ratio_interval(solves, by_instance[RPB]).ratio)
        for method, solves in by_instance.items()
    }
    limit = gains[ORACLE]
    line = {"method": "free oracle", "ratio": round(math.exp(limit), 3), "solves": len(costs)}
    emit({"family": summary.setting} | line)
    return {method: round(gain / limit, 2) for method, gain in gains.items()} if limit < 0.0 else {}


if __name__ == "__main__":
    main()
