"""Inequalities that a writer states to follow from rows of a model, each proven by a sub-MIP before it is used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyscipopt

from bife_core.base.errors import BifeError
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
    problem: Problem, inequalities: Iterable[Inequality], nodes: int = 1000
) -> tuple[list[Inequality], Counter[str]]:
    """Return the inequalities that are proven, with the side that is, and how many of all had which outcome.

    SCIP maximises the left side over the rows that an inequality names, the bounds and the integers, in at most so many
    `nodes`. It is ``proven`` if the dual bound is at most the right side, within `TOLERANCE`; then its side becomes the
    bound where that is more, plus the tolerance, so that no rounding of SCIP's cuts off a solution. It is ``false`` if
    the bound is reached, ``undecided`` if the nodes do not suffice, and ``unbounded`` or ``infeasible`` if the rows are
    so: whatever follows from rows without a solution is not used. What does not fit the problem, is not finite or has
    coefficients more than six orders of magnitude apart is ``malformed``.
    """
    proven, outcomes = list[Inequality](), Counter[str]()
    models = dict[tuple[tuple[int, ...], bytes], tuple[pyscipopt.Model, dict[int, Any]]]()
    for inequality in inequalities:
        if not _well_formed(problem, inequality):
            outcomes["malformed"] += 1
            continue
        rows, chosen = tuple(sorted(set(inequality.rows))), np.asarray(inequality.columns, dtype=np.int64)
        columns = np.union1d(problem.rows[list(rows)].indices, chosen)
        if (key := (rows, columns.tobytes())) not in models:
            of_rows = (problem.rows[list(rows)][:, columns], problem.lhs[list(rows)], problem.rhs[list(rows)])
            model, variables = new_model(problem, columns, *of_rows)
            model.setParams({"limits/totalnodes": nodes, "limits/gap": 0.0, "limits/absgap": 0.0})
            models[key] = model, dict(zip(columns.tolist(), variables, strict=True))
        scale = float(np.abs(inequality.coefficients).max())
        terms, rhs = np.asarray(inequality.coefficients, dtype=float) / scale, inequality.rhs / scale
        outcome, bound = _maximised(*models[key], chosen, terms, rhs)
        outcomes[outcome] += 1
        if outcome == "proven":
            proven.append(replace(inequality, coefficients=terms, rhs=max(rhs, bound) + _slack(rhs)))
    return proven, outcomes


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
    model.freeTransform()
    pairs = zip(columns.tolist(), terms.tolist(), strict=True)
    model.setObjective(pyscipopt.quicksum(term * variables[column] for column, term in pairs), "maximize")
    model.optimize()
    status, bound = model.getStatus(), model.getDualbound()
    if status == "userinterrupt":
        raise KeyboardInterrupt
    if status in ("infeasible", "unbounded", "inforunbd"):
        return ("infeasible" if status == "infeasible" else "unbounded"), bound
    if status not in ("optimal", "totalnodelimit", "nodelimit"):
        raise BifeError(f"SCIP is to end a proof with an optimum or at its nodes, not with {status}.")
    if bound <= rhs + _slack(rhs):
        return "proven", bound
    false = model.getNSols() and model.getPrimalbound() > rhs + _slack(rhs)
    return ("false" if false else "undecided"), bound
