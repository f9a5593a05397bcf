"""What inequalities that are written from a formulation, and proven, gain: at the root's LP, beside SCIP's own.

    python -m bench.inequalities --families generalised_assignment --instances 6

The writers, each of which finds what the LP's solution violates, in rounds: `knapsacks`, facets of the knapsack of a
row of binaries; `links`, ``x <= y`` where a row lets x be positive only if the binary y is 1; `stocks`, the (l,S)
inequalities of lot sizing. Every inequality is proven by a sub-MIP of the rows that it follows from before SCIP gets
it, as a row that may leave the LP. One JSON object an instance: {instance, written, outcomes, lp, lp_after, write_s,
prove_s, refused}, `refused` of how many false ones, 2 % off; then one a solve, in turn: {instance, settings, with,
status, cpu_s, nodes, root, objective}, `cpu_s` with writing and proofs; then for each settings {family, settings,
solves, ratio, ci_low, ci_high, worst} of CPU time with inequalities over that without.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pyscipopt

from bench import emit, instances_of, interval_of, model_of, parse
from bench.certificates import Inequality, certified
from bench.orders import SETTINGS, under
from bife_core.solver.starts.problem import Array, Problem, problem_of

_ROUNDS = 40
_VIOLATED = 1e-4
_SHARE = 1e-4  # of the LP value that five rounds gain at least

Writer: TypeAlias = Callable[[Problem, Array], list[Inequality]]


def facet(weights: Array, capacity: int, x: Array) -> tuple[Array, float] | None:
    """Return a facet of a knapsack of binaries that a point violates, as coefficients and side, or None.

    It is separated exactly on the fractional items, and lifted in turn to those that the point packs and leaves out.
    """
    free = np.flatnonzero((x > 1e-6) & (x < 1.0 - 1e-6))
    packed, left_out = (np.flatnonzero(which) for which in (x >= 1.0 - 1e-6, x <= 1e-6))
    if not len(free):
        return None
    packed, core, room = (
        packed[np.argsort(weights[packed])],
        free.tolist(),
        capacity - int(weights[packed].sum()),
    )
    while len(packed) and room < weights[core].max():  # each item of the core must fit alone
        core.append(int(packed[0]))
        room, packed = room + int(weights[packed[0]]), packed[1:]
    if room < weights[core].max():
        return None
    terms = np.zeros(len(weights))
    if (separated := _separated(weights[core], room, x[core])) is None:
        return None
    terms[core], side = separated, 1.0
    most = np.zeros(capacity + 1)  # of the lifted terms, by capacity
    for item in core:
        _pack(most, int(weights[item]), terms[item])
    for item in packed[::-1]:
        weight = int(weights[item])
        terms[item] = max(most[room + weight] - side, 0.0)
        side, room = side + terms[item], room + weight
        _pack(most, weight, terms[item])
    for item in left_out[np.argsort(weights[left_out])]:
        weight = int(weights[item])
        terms[item] = max(side - (most[capacity - weight] if weight <= capacity else 0.0), 0.0)
        _pack(most, weight, terms[item])
    terms[np.abs(terms) < 1e-5 * np.abs(terms).max()] = 0.0
    return terms, side


def _pack(most: Array, weight: int, value: float) -> None:
    if value > 0.0 and weight < len(most):
        most[weight:] = np.maximum(most[weight:], most[: len(most) - weight] + value)


def _separated(weights: Array, capacity: int, x: Array) -> Array | None:
    """Return the coefficients of the inequality with side 1 that x violates most, by rows for each packing."""
    lp = pyscipopt.LP(sense="maximize")
    for value in x.tolist():
        lp.addCol([], value, 0.0, 1.0)
    for _ in range(200):
        if lp.solve() <= 1.0 + _VIOLATED:
            return None
        terms = np.array(lp.getPrimal())
        most = np.zeros((len(terms) + 1, capacity + 1))
        for item, weight in enumerate(weights.astype(int).tolist()):
            most[item + 1] = most[item]
            _pack(most[item + 1], weight, terms[item])
        if most[-1, -1] <= 1.0 + 1e-7:
            return np.asarray(terms / max(float(most[-1, -1]), 1.0))
        packing, room = [], capacity
        for item in reversed(range(len(terms))):
            if most[item + 1, room] > most[item, room]:
                packing.append((item, 1.0))
                room -= int(weights[item])
        lp.addRow(packing, -lp.infinity(), 1.0)
    return None


def knapsacks(problem: Problem, x: Array) -> list[Inequality]:
    """Return violated facets of the rows of binaries whose weights are integers."""
    written = []
    for row in range(len(problem.lhs)):
        columns = problem.indices[problem.indptr[row] : problem.indptr[row + 1]]
        weights = problem.data[problem.indptr[row] : problem.indptr[row + 1]]
        if not problem.binary[columns].all() or not np.isfinite(problem.rhs[row]) or (weights <= 1).all():
            continue
        if (weights != weights.round()).any() or (weights <= 0).any() or np.isfinite(problem.lhs[row]):
            continue
        if lifted := facet(weights, int(problem.rhs[row]), x[columns]):
            written += _violated(x, columns, *lifted, (row,))
    return written


def links(problem: Problem, x: Array) -> list[Inequality]:
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
            written += _violated(x, np.array([column, opens[0]]), np.array([1.0, -most]), 0.0, (row,))
    return written


def stocks(problem: Problem, x: Array) -> list[Inequality]:
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
                written += _violated(x, columns[kept], terms[kept], -until[0], tuple(named))
        item += 1
    return written


def _violated(x: Array, columns: Array, terms: Array, rhs: float, rows: tuple[int, ...]) -> list[Inequality]:
    columns, terms = columns[terms != 0.0], terms[terms != 0.0]
    far = len(terms) and terms @ x[columns] > rhs + _VIOLATED * max(1.0, np.abs(terms).max())
    return [Inequality(columns, terms, float(rhs), rows)] if far else []


WRITERS: dict[str, Writer] = {"lot_sizing": stocks, "facility_location": links, "network_design": links}
"""What writes for a family; knapsacks for the others."""


def written_for(problem: Problem, writer: Writer) -> tuple[list[Inequality], float, float]:
    """Return what a writer finds in rounds and is tight at the end, and the LP's value before and after."""
    lp = pyscipopt.LP()
    infinity, written, values = lp.infinity(), list[Inequality](), list[float]()
    for cost, *bounds in zip(problem.objective, problem.lower, problem.upper, strict=True):
        lp.addCol([], cost, *np.clip(bounds, -infinity, infinity).tolist())
    for row, sides in enumerate(np.clip((problem.lhs, problem.rhs), -infinity, infinity).T.tolist()):
        entries = slice(problem.indptr[row], problem.indptr[row + 1])
        lp.addRow(
            list(zip(problem.indices[entries].tolist(), problem.data[entries].tolist(), strict=True)), *sides
        )
    for _ in range(_ROUNDS):
        values.append(lp.solve())
        x = np.array(lp.getPrimal())
        slow = len(values) > 5 and values[-1] - values[-6] < _SHARE * abs(values[-1])
        if slow or not (new := writer(problem, x)):
            break
        for cut in new:
            lp.addRow(
                list(zip(cut.columns.tolist(), cut.coefficients.tolist(), strict=True)), -infinity, cut.rhs
            )
        written += new
    tight = [
        cut for cut in written if cut.coefficients @ x[cut.columns] >= cut.rhs - 1e-3 * max(1.0, abs(cut.rhs))
    ]
    return tight, values[0], values[-1]


def give(model: pyscipopt.Model, problem: Problem, inequalities: list[Inequality]) -> None:
    """Add inequalities as rows that the model does not need."""
    variables = {variable.name: variable for variable in model.getVars()}
    for cut in inequalities:
        pairs = zip(cut.columns.tolist(), cut.coefficients.tolist(), strict=True)
        left = pyscipopt.quicksum(value * variables[problem.names[column]] for column, value in pairs)
        model.addCons(left <= cut.rhs, check=False, enforce=False, propagate=False, removable=True)


def main() -> None:
    options = parse(__doc__, instances=6, time_limit=40.0, settings=list(SETTINGS))
    for family in options.families:
        logs = defaultdict[str, list[float]](list)
        for path in instances_of(family, options):
            problem, name = problem_of(model_of(path), 0, options.time_limit), path.name.split(".")[0]
            began = time.process_time()
            inequalities, *values = written_for(problem, WRITERS.get(family, knapsacks))
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
            lines |= {"write_s": round(written - began, 2), "prove_s": round(seconds - written + began, 2)}
            emit({"instance": name} | lines | {"refused": len(false) - len(certified(problem, false)[0])})
            for settings in options.settings:
                base = 0.0
                for added in ([], proven):
                    model = under(model_of(path), settings, options.seeds[0], options.time_limit)
                    give(model, problem, added)
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
                        logs[settings].append(float(np.log(max(spent, 0.01) / max(base, 0.01))))
                    base = spent
        for settings, ratios in logs.items():
            line = {"family": family, "settings": settings, "solves": len(ratios)} | interval_of(
                np.array(ratios)
            )
            emit(line | {"worst": round(float(np.exp(max(ratios))), 3)})


if __name__ == "__main__":
    main()
