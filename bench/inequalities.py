"""What inequalities that are written from a formulation, and proven, gain: at the root's LP, beside SCIP's own.

    python -m bench.inequalities --families generalised_assignment --instances 6

The writers, each of which finds what the LP's solution violates, in rounds: `facets_of`, facets of the knapsack of a
row of binaries; `links`, ``x <= y`` where a row lets x be positive only if the binary y is 1; `stocks`, the (l,S)
inequalities of lot sizing. Every inequality is proven by a sub-MIP of the rows that it follows from before SCIP gets
it, as a row that may leave the LP. One JSON object an instance: {instance, written, outcomes, lp, lp_after, write_s,
prove_s, refused}, `refused` of how many false ones, 2 % off; then one a solve, interleaved: {instance, settings, with,
status, cpu_s, nodes, root, objective}, `cpu_s` with writing and proofs; then for each settings {family, settings,
solves, ratio, ci_low, ci_high, worst} of CPU time with inequalities over that without.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bench import emit, instances_of, interval_of, model_of, parse, rounded
from bench.orders import SETTINGS, under
from bife_core.solver.inequalities.certificates import Inequality, certified
from bife_core.solver.inequalities.giving import add
from bife_core.solver.inequalities.knapsacks import facets_of
from bife_core.solver.inequalities.rounds import Writer, violated, written_for
from bife_core.solver.starts.problem import Array, Problem, problem_of


def links(x: Array, problem: Problem) -> list[Inequality]:
    """Return violated links of variables of one row to its binary that has the only negative coefficient."""
    written = []
    for row in np.flatnonzero((problem.rhs == 0.0) & ~np.isfinite(problem.lhs)).tolist():
        columns = problem.indices[problem.indptr[row] : problem.indptr[row + 1]]
        weights = problem.data[problem.indptr[row] : problem.indptr[row + 1]]
        opens = columns[weights < 0]
        if (
            len(opens) != 1
            or len(columns) < 3
            or not problem.binary[opens[0]]
            or (problem.lower[columns] < 0).any()
        ):
            continue
        for column, weight in zip(columns[weights > 0], weights[weights > 0], strict=True):
            most = min(problem.upper[column], -float(weights[weights < 0][0]) / weight)
            written += violated(x, np.array([column, opens[0]]), np.array([1.0, -most]), 0.0, (row,))
    return written


def stocks(x: Array, problem: Problem) -> list[Inequality]:
    """Return violated (l,S) inequalities: demand up to a period is made, or a set-up in the period lets it be made."""
    places = {name: place for place, name in enumerate(problem.names)}
    rows = {name: place for place, name in enumerate(problem.row_names)}
    written, item = [], 1
    while f"make_{item}_1" in places:
        periods = [t for t in range(1, len(rows)) if f"balance_{item}_{t}" in rows]
        due, made, set_up = (
            np.array([value(t) for t in periods])
            for value in (
                lambda t, i=item: problem.rhs[rows[f"balance_{i}_{t}"]],
                lambda t, i=item: places[f"make_{i}_{t}"],
                lambda t, i=item: places[f"setup_{i}_{t}"],
            )
        )
        for last in range(1, len(periods) + 1):
            until = np.cumsum(due[:last][::-1])[::-1]
            by_set_up = until * x[set_up[:last]] < x[made[:last]]
            columns = np.where(by_set_up, set_up[:last], made[:last])
            terms, kept = np.where(by_set_up, -until, -1.0), ~(by_set_up & (until == 0))
            named = [rows[f"{word}_{item}_{t}"] for t in periods[:last] for word in ("balance", "produce")]
            if kept.any():
                written += violated(x, columns[kept], terms[kept], -until[0], tuple(named))
        item += 1
    return written


def writer_of(family: str, problem: Problem) -> Writer:
    """Return what writes for a family: knapsacks' facets for most."""
    writers = {"lot_sizing": stocks, "facility_location": links, "network_design": links}
    return partial(writers[family], problem=problem) if family in writers else facets_of(problem)


def main() -> None:
    options = parse(__doc__, instances=6, time_limit=40.0, settings=list(SETTINGS))
    for family in options.families:
        logs = defaultdict[str, list[float]](list)
        for path in instances_of(family, options):
            problem, name = problem_of(model_of(path), 0, options.time_limit), path.name.split(".")[0]
            began = time.process_time()
            inequalities, *values = written_for(problem, writer_of(family, problem))
            written = time.process_time()
            proven, outcomes = certified(problem, inequalities)
            seconds = time.process_time() - began
            false = [replace(cut, rhs=cut.rhs - 0.02 * max(abs(cut.rhs), 1.0)) for cut in proven[:20]]
            lines = {
                "written": len(inequalities),
                "outcomes": outcomes,
                "lp": values[0],
                "lp_after": values[1],
            }
            lines |= rounded({"write_s": written - began, "prove_s": seconds - written + began}, 2)
            emit({"instance": name} | lines | {"refused": len(false) - len(certified(problem, false)[0])})
            for settings in options.settings:
                base = 0.0
                for added in ([], proven):
                    model = under(model_of(path), settings, options.seeds[0], options.time_limit)
                    add(model, model.getVars(), added)
                    model.optimize()
                    spent = model.getSolvingTime() + (seconds if added is proven else 0.0)
                    line: dict[str, Any] = {"instance": name, "settings": settings, "with": len(added)}
                    line |= {
                        "status": model.getStatus(),
                        "cpu_s": round(spent, 2),
                        "nodes": model.getNTotalNodes(),
                    }
                    emit(line | {"root": model.getDualboundRoot(), "objective": model.getPrimalbound()})
                    if added is proven:
                        logs[settings].append(math.log(max(spent, 0.01) / max(base, 0.01)))
                    base = spent
        for settings, ratios in logs.items():
            line = {"family": family, "settings": settings, "solves": len(ratios)}
            emit(line | interval_of(np.array(ratios)) | rounded({"worst": math.exp(max(ratios))}))


if __name__ == "__main__":
    main()
