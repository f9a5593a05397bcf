"""How a model gets inequalities before SCIP solves it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import pyscipopt

from bife_core.base.wording import counted
from bife_core.solver.inequalities import Kind
from bife_core.solver.inequalities.certificates import Inequality, certified
from bife_core.solver.inequalities.knapsacks import facets_of, knapsack
from bife_core.solver.inequalities.rounds import written_for
from bife_core.solver.scip.exactness import LINEAR
from bife_core.solver.scip.libscip import has_pricers, scip_errors
from bife_core.solver.starts.method import Started, attempted
from bife_core.solver.starts.problem import problem_of

_MOST_ROWS: Final = 50_000
"""Rows, and variables, of a model whose LP is solved for inequalities."""


def give_inequalities(model: pyscipopt.Model, kind: Kind) -> Started:
    """Write inequalities for a model that is not being solved yet, prove them, and add those that are proven."""

    def give() -> tuple[str, int, None]:
        if not has_knapsacks(model):
            return "the model has no such row", 0, None
        problem = problem_of(model, 0, float("inf"))
        written, *_ = written_for(problem, facets_of(problem))
        proven, _ = certified(problem, written)
        with scip_errors("SCIP takes no more rows"):
            add(model, proven)
        facets = counted(len(proven), "facet")
        return f"SCIP got {facets}, all proven, of {len(written)} written", len(proven), None

    return attempted(f"The inequalities {kind}", "they failed", give)


def add(model: pyscipopt.Model, inequalities: Iterable[Inequality]) -> None:
    """Add inequalities, by the places of variables, as rows that the model does not need."""
    variables = model.getVars()
    for cut in inequalities:
        pairs = zip(cut.columns.tolist(), cut.coefficients.tolist(), strict=True)
        left = pyscipopt.quicksum(value * variables[column] for column, value in pairs)
        model.addCons(left <= cut.rhs, check=False, enforce=False, propagate=False, removable=True)


def has_knapsacks(model: pyscipopt.Model) -> bool:
    """Whether a row of a model that is neither large nor priced may be a knapsack of binaries; without its arrays."""
    rows = model.getConss(False)
    if max(len(rows), model.getNVars()) > _MOST_ROWS or has_pricers(model):
        return False
    for row in rows:
        if row.getConshdlrName() not in LINEAR or row.isModifiable():
            continue
        weights = np.array(model.getConsVals(row), dtype=np.float64)
        sides = ((1.0, float(model.getRhs(row))), (-1.0, -float(model.getLhs(row))))
        fits = len(weights) and any(knapsack(sign * weights, side) is not None for sign, side in sides)
        if fits and all(
            each.vtype() in ("BINARY", "INTEGER")
            and (each.getLbOriginal(), each.getUbOriginal()) == (0.0, 1.0)
            for each in model.getConsVars(row)
        ):
            return True
    return False
