"""What imitating strong branching could win at most, and how much of it rules do win.

The *free oracle* is full strong branching whose decisions cost nothing: the CPU time of SCIP's `vanillafullstrong`
less what it spends in branching. No rule that imitates it can be expected to do better. One JSON object a line:
{family, method, ratio, ci_low, ci_high, share, instances}, where ratio is the geometric mean over instances of CPU time
over that of reliability pseudocost branching, and share is the part of the oracle's gain that a method wins, in
logarithms.

`--rules` are names or files of rules beside those the family's reference rule is taken from. Solves are kept in
`--store`, and the same command goes on where it was stopped; an oracle needs many times the time of a rule.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from bench.options import benchmark_of, parse
from bench.search_cost import home_of
from bife_core.config import EvaluationConfig
from bife_core.evaluation.measuring import Setting
from bife_core.evaluation.summary import evaluate
from bife_core.methods.loading import load_method
from bife_core.rules import BENCHMARK_RULES
from bife_core.sandbox import WorkerPool
from bife_core.scip.builtin import RPB
from bife_core.solves import SolveStore
from bife_core.stats import RatioInterval, ratio_interval

ORACLE = "vanillafullstrong"


def main() -> None:
    options = parse(__doc__, instances=10, rules=[], time_limit=3600.0, store=None, workers=1)
    with home_of(options.store) as home, WorkerPool(options.workers) as pool:
        store = SolveStore(home / "solves")
        for family in options.families:
            for line in measured(family, options, store, pool):
                print(json.dumps(line), flush=True)


def measured(family: str, options: Any, store: SolveStore, pool: WorkerPool) -> Iterator[dict[str, Any]]:
    """Yield a line for the oracle, and one for each method."""
    names = [*options.rules, BENCHMARK_RULES[family], "pscost", ORACLE]
    instances = tuple(benchmark_of(family, options).instances("test", options.instances))
    config = EvaluationConfig(
        instances=len(instances), seeds=tuple(options.seeds), time_limit_s=options.time_limit, fresh=False
    )
    summary = evaluate(
        [load_method(name) for name in names], [Setting(family, instances)], config, pool, store
    )
    frame = summary.frame()
    cost = frame["cpu_s"] - frame["branching_s"].where(frame["method"] == ORACLE, 0.0)
    costs = frame.assign(cost=cost).pivot_table("cost", ["instance", "seed"], "method")
    solved = costs.dropna()
    limit = math.log(_ratio(solved, ORACLE).ratio)
    for method in (ORACLE, *(name for name in solved.columns if name not in (ORACLE, RPB))):
        found = _ratio(solved, method)
        yield {
            "family": family,
            "method": "free oracle" if method == ORACLE else method,
            "ratio": round(found.ratio, 4),
            "ci_low": found.low and round(found.low, 4),
            "ci_high": found.high and round(found.high, 4),
            "share": round(math.log(found.ratio) / limit, 3),
            "instances": found.instances,
        }


def _ratio(costs: pd.DataFrame, method: str) -> RatioInterval:
    return ratio_interval(_by_instance(costs[method]), _by_instance(costs[RPB]))


def _by_instance(costs: pd.Series[float]) -> dict[str, list[float]]:
    return {str(name): found.to_list() for name, found in costs.groupby("instance")}


if __name__ == "__main__":
    main()
