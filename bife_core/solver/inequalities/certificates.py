"""Inequalities that a writer states to follow from rows of a model, each proven by a sub-MIP before it is used."""

from __future__ import annotations

import ctypes
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyscipopt

from bife_core.base.errors import BifeError
from bife_core.solver.scip.libscip import check, function, scip_address
from bife_core.solver.starts.problem import Array, Problem, new_model

TOLERANCE: Final = 1e-6
"""Share of a side, or of 1 if that is more, by which a bound may exceed it: SCIP's own for rows."""

_SPAN: Final = 1e6  # SCIP takes what is below 1e-9 for zero, also in an objective
_INFINITY: Final = 1e20


@dataclass(frozen=True, eq=False)
class Inequality:
    """``coefficients @ x[columns] <= rhs``, which follows from `rows`, all by their places in a problem."""

    columns: Array
    coefficients: Array
    rhs: float
    rows: tuple[int, ...]


def certified(
    problem: Problem, inequalities: Iterable[Inequality], nodes: int = 1000, ends: float = np.inf
) -> tuple[list[Inequality], Counter[str]]:
    """Return the inequalities that are proven, with the side that is, and how many of all had which outcome.

    SCIP maximises the left side over the rows that an inequality names, the bounds and the integers, in at most so many
    `nodes`. It is ``proven`` if the dual bound is at most the right side, within `TOLERANCE`; then its side becomes the
    bound where that is more, plus the tolerance, so that no rounding of SCIP's cuts off a solution. It is ``false`` if
    the bound is reached, ``undecided`` if the nodes or the CPU seconds of this thread until `ends` do not suffice, and
    ``unbounded`` or ``infeasible`` if the rows are so: whatever follows from rows without a solution is not used. What
    does not fit the problem, is not finite or has coefficients more than six orders of magnitude apart is
    ``malformed``.
    """
    proven, outcomes = dict[int, Inequality](), Counter[str]()
    of_rows = defaultdict[tuple[tuple[int, ...], bytes], list[tuple[int, Inequality, Array]]](list)
    for place, inequality in enumerate(inequalities):
        if not _well_formed(problem, inequality):
            outcomes["malformed"] += 1
            continue
        rows, chosen = tuple(sorted(set(inequality.rows))), np.asarray(inequality.columns, dtype=np.int64)
        columns = np.union1d(problem.rows[list(rows)].indices, chosen)
        of_rows[rows, columns.tobytes()].append((place, inequality, columns))
    model: pyscipopt.Model | None = None
    for (rows, _), stated in of_rows.items():
        columns, some = stated[0][2], list(rows)
        sides = problem.lhs[some], problem.rhs[some]
        model, variables = new_model(problem, columns, problem.rows[some][:, columns], *sides, model=model)
        # Presolving of rows with other variables can lose the optimum (`findings/scip-wrong-optimum-of-equations.sh`).
        rounds = -1 if problem.binary[columns].all() else 0
        limits = {"limits/totalnodes": nodes, "limits/gap": 0.0, "limits/absgap": 0.0, "timing/clocktype": 1}
        model.setParams(limits | {"presolving/maxrounds": rounds})
        by_column = dict(zip(columns.tolist(), variables, strict=True))
        for place, inequality, _ in stated:
            if (rest_s := ends - time.thread_time()) <= 0.0:
                outcomes["undecided"] += 1
                continue
            model.setParam("limits/time", min(rest_s, _INFINITY))
            scale = float(np.abs(inequality.coefficients).max())
            terms, rhs = np.asarray(inequality.coefficients, dtype=float) / scale, inequality.rhs / scale
            outcome, bound = _maximised(model, by_column, np.asarray(inequality.columns), terms, rhs)
            outcomes[outcome] += 1
            if outcome == "proven":
                side = max(rhs, bound) + _slack(rhs)
                proven[place] = replace(inequality, coefficients=terms, rhs=side)
    return [proven[place] for place in sorted(proven)], outcomes


def _slack(rhs: float) -> float:
    return TOLERANCE * max(1.0, abs(rhs))


def _well_formed(problem: Problem, inequality: Inequality) -> bool:
    columns, sizes = np.asarray(inequality.columns), np.abs(np.asarray(inequality.coefficients, dtype=float))
    if not (columns.ndim == sizes.ndim == 1 and 0 < len(columns) == len(sizes) == len(set(columns.tolist()))):
        return False
    if not (np.isfinite(sizes).all() and sizes.min() > 0.0 and sizes.max() <= _SPAN * sizes.min()):
        return False
    places = (
        np.issubdtype(columns.dtype, np.integer) and columns.min() >= 0 and columns.max() < len(problem.names)
    )
    scaled = abs(inequality.rhs) / sizes.max()
    return bool(places and scaled < _INFINITY and all(0 <= row < len(problem.lhs) for row in inequality.rows))


def _maximised(
    model: pyscipopt.Model, variables: dict[int, Any], columns: Array, terms: Array, rhs: float
) -> tuple[str, float]:
    """Return whether a left side is at most `rhs`, in a word, and its bound."""
    # PySCIPOpt's `freeTransform` reads variables of the problem before, which `new_model` freed.
    check(function("SCIPfreeTransform")(ctypes.c_void_p(scip_address(model))), "go on with another objective")
    pairs = zip(columns.tolist(), terms.tolist(), strict=True)
    model.setObjective(pyscipopt.quicksum(term * variables[column] for column, term in pairs), "maximize")
    model.optimize()
    status, bound = model.getStatus(), model.getDualbound()
    if status == "userinterrupt":
        raise KeyboardInterrupt
    if status in ("infeasible", "unbounded", "inforunbd"):
        return ("infeasible" if status == "infeasible" else "unbounded"), bound
    if status not in ("optimal", "totalnodelimit", "nodelimit", "timelimit"):
        raise BifeError(f"SCIP is to end a proof with an optimum or at a limit, not with {status}.")
    if bound <= rhs + _slack(rhs):
        return "proven", bound
    false = model.getNSols() and model.getPrimalbound() > rhs + _slack(rhs)
    return ("false" if false else "undecided"), bound
