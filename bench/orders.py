"""What an order of branching by class of variables gains: some classes before others, by SCIP's branching priorities.

    python -m bench.orders --families lot_sizing --instances 12 --orders "low last number first"

Integer variables fall into classes by their names' letters, by the numbers in their names, by their cost and by their
rows. Without `--orders` all orders of a family are tried, under SCIP default settings and lean ones, beside no order,
which the ratios are to; `--draw` draws other instances. Solves take turns. One JSON object a solve: {instance,
settings, order, status, cpu_s, nodes}; then one for each order: {family, settings, order, solves, ratio, ci_low,
ci_high, worst, nodes}, `ratio` of CPU time with its interval and `nodes` the ratio of nodes.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyscipopt

from bench import emit, instances_of, interval_of, model_of, parse, rounded

SETTINGS: dict[str, dict[str, Any]] = {"default": {}, "lean": {"branching/pscost/priority": 1_000_000}}
"""Lean: without cuts and heuristics, and branching by pseudocosts, as tuning often ends."""

_STEP = 4
"""Classes of numbers, costs and rows: quarters of the variables, each branched on before the next."""


def orders_of(model: pyscipopt.Model) -> dict[str, dict[str, int]]:
    """Return the priorities of integer variables, by their names, in each order that has two classes at least."""
    rows = defaultdict[str, int](int)
    for row in model.getConss(False):
        for variable in model.getConsVars(row):
            rows[variable.name] += 1
    integers = [variable for variable in model.getVars() if variable.vtype() != "CONTINUOUS"]
    names = [variable.name for variable in integers]
    parts = [re.findall("[0-9]+", name) for name in names]
    measures = {"cost": [v.getObj() for v in integers], "rows": [rows[name] for name in names]}
    for words, place in (("first number", 0), ("last number", -1)):
        measures[words] = [float(part[place]) if part else 0.0 for part in parts]
    if measures["first number"] == measures["last number"]:
        del measures["last number"]
    orders = dict[str, dict[str, int]]()
    for words, values in measures.items():
        quarters = np.searchsorted(np.quantile(values, np.arange(1, _STEP) / _STEP), values, side="left")
        if len(set(quarters.tolist())) > 1:
            orders[f"low {words} first"] = dict(zip(names, (-quarters).tolist(), strict=True))
            orders[f"high {words} first"] = dict(zip(names, quarters.tolist(), strict=True))
    stems = [stem[0] if (stem := re.match("[^0-9]*", name)) else "" for name in names]
    for chosen in sorted(set(stems)) if len(set(stems)) > 1 else ():
        for word, priority in (("first", 1), ("last", -1)):
            orders[f"{chosen} {word}"] = {
                n: priority * (stem == chosen) for n, stem in zip(names, stems, strict=True)
            }
    return orders


def under(model: pyscipopt.Model, settings: str, seed: int, limit_s: float) -> pyscipopt.Model:
    """Return a model under settings, with a limit in CPU seconds."""
    model.setParams({"limits/time": limit_s, "randomization/randomseedshift": seed} | SETTINGS[settings])
    if settings == "lean":
        model.setSeparating(pyscipopt.SCIP_PARAMSETTING.OFF)
        model.setHeuristics(pyscipopt.SCIP_PARAMSETTING.OFF)
    return model


def solved(path: Path, settings: str, order: str | None, seed: int, limit_s: float) -> dict[str, Any]:
    """Solve an instance in an order; return status, CPU seconds and nodes."""
    model = under(model_of(path), settings, seed, limit_s)
    priorities = orders_of(model)[order] if order else {}
    for variable in model.getVars():
        if priority := priorities.get(variable.name):
            model.chgVarBranchPriority(variable, priority)
    model.optimize()
    seconds = model.getSolvingTime()
    return {"status": model.getStatus(), "cpu_s": round(seconds, 2), "nodes": model.getNTotalNodes()}


def main() -> None:
    options = parse(__doc__, instances=4, time_limit=30.0, orders=[], settings=list(SETTINGS))
    for family in options.families:
        logs = defaultdict[tuple[str, str], list[list[float]]](list)
        for path in instances_of(family, options):
            name, orders = path.name.split(".")[0], options.orders or list(orders_of(model_of(path)))
            for seed, settings in product(options.seeds, options.settings):
                base: dict[str, Any] = {}
                for order in (None, *orders):
                    row = solved(path, settings, order, seed, options.time_limit)
                    emit({"instance": name, "settings": settings, "order": order} | row)
                    base = base or row
                    if order:
                        pairs = [(max(row[key], 0.01), max(base[key], 0.01)) for key in ("cpu_s", "nodes")]
                        logs[settings, order].append([math.log(cost / usual) for cost, usual in pairs])
        for (settings, order), ratios in logs.items():
            times, nodes = np.array(ratios).T
            line = {"family": family, "settings": settings, "order": order, "solves": len(times)}
            emit(
                line
                | interval_of(times)
                | rounded({"worst": np.exp(times.max()), "nodes": np.exp(nodes.mean())})
            )


if __name__ == "__main__":
    main()
