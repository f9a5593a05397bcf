"""Rounds of an LP, each of which a writer gives what it violates."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
import pyscipopt

from bife_core.solver.inequalities.certificates import Inequality
from bife_core.solver.starts.problem import Array, Problem

VIOLATED: Final = 1e-4

_ROUNDS: Final = 40

_SHARE: Final = 1e-4  # of the LP value that five rounds gain at least

_ITERATIONS: Final = 50_000  # of the simplex method in a round

Writer: TypeAlias = Callable[[Array], list[Inequality]]
"""What returns inequalities of a problem that a point violates."""


def written_for(
    problem: Problem, writer: Writer, ends: float = np.inf
) -> tuple[list[Inequality], float, float]:
    """Return what its writer finds in rounds and is tight at the end, and the LP's value before and after.

    No round begins once this thread has had CPU seconds up to `ends`.

    The values are NaN, and nothing is found, where the LP has no optimum.
    """
    lp = pyscipopt.LP()
    lp.setIntParam(pyscipopt.SCIP_LPPARAM.LPITLIM, _ITERATIONS)
    infinity, written, values = lp.infinity(), list[Inequality](), list[float]()
    for cost, *bounds in zip(problem.objective, problem.lower, problem.upper, strict=True):
        lp.addCol([], cost, *np.clip(bounds, -infinity, infinity).tolist())
    for row, sides in enumerate(np.clip((problem.lhs, problem.rhs), -infinity, infinity).T.tolist()):
        entries = slice(problem.indptr[row], problem.indptr[row + 1])
        lp.addRow(_row(problem.indices[entries], problem.data[entries]), *sides)
    for _ in range(_ROUNDS):
        if (rest_s := ends - time.thread_time()) <= 0.0:
            break
        lp.setRealParam(pyscipopt.SCIP_LPPARAM.LPTILIM, min(rest_s, infinity))
        value = lp.solve()
        if not lp.isOptimal():  # infeasible, unbounded or too long
            break
        values.append(value)
        x = np.array(lp.getPrimal())
        slow = len(values) > 5 and values[-1] - values[-6] < _SHARE * abs(values[-1])
        if slow or not (new := writer(x)):
            break
        for cut in new:
            lp.addRow(_row(cut.columns, cut.coefficients), -infinity, cut.rhs)
        written += new
    if not values:
        return [], float("nan"), float("nan")
    tight = [
        cut for cut in written if cut.coefficients @ x[cut.columns] >= cut.rhs - 1e-3 * max(1.0, abs(cut.rhs))
    ]
    return tight, values[0], values[-1]


def _row(columns: Array, terms: Array) -> list[tuple[int, float]]:
    return list(zip(columns.tolist(), terms.tolist(), strict=True))


def violated(x: Array, columns: Array, terms: Array, rhs: float, rows: tuple[int, ...]) -> list[Inequality]:
    """Return ``terms @ x[columns] <= rhs`` without its zeros, if `x` violates it."""
    columns, terms = columns[terms != 0.0], terms[terms != 0.0]
    far = len(terms) and terms @ x[columns] > rhs + VIOLATED * max(1.0, np.abs(terms).max())
    return [Inequality(columns, terms, float(rhs), rows)] if far else []
