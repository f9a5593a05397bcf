"""How a model gets inequalities when SCIP begins to solve it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import pyscipopt

from bife_core.base.wording import counted
from bife_core.solver.inequalities import Kind
from bife_core.solver.inequalities.certificates import Inequality, certified
from bife_core.solver.inequalities.knapsacks import facets_of, knapsack
from bife_core.solver.inequalities.rounds import written_for
from bife_core.solver.scip.exactness import LINEAR
from bife_core.solver.scip.libscip import has_pricers, scip_errors
from bife_core.solver.starts.method import SHARE, Started, attempted
from bife_core.solver.starts.problem import problem_of

_MOST_ROWS: Final = 50_000
"""Rows, and variables, of a model whose LP is solved for inequalities."""


def give_inequalities(model: pyscipopt.Model, kind: Kind) -> Started:
    """Write inequalities for a problem before it is presolved, prove them, and add those that are proven.

    They go with the solve: a model may change until the next, in which a row need not follow from another any more.

    To write them, and to prove them, each takes a quarter of the time limit at most.
    """

    def give() -> tuple[str, int, None]:
        if not has_knapsacks(model):
            return "the model has no such row", 0, None
        share_s = SHARE * float(model.getParam("limits/time")) / 2
        problem = problem_of(model, 0, share_s)
        ends = time.thread_time() + share_s
        written, *_ = written_for(problem, facets_of(problem, ends), ends)
        proven, _ = certified(problem, written, ends=time.thread_time() + share_s)
        with scip_errors("SCIP takes no more rows"):
            add(model, [model.getTransformedVar(variable) for variable in model.getVars()], proven)
        facets = counted(len(proven), "facet")
        return f"SCIP got {facets}, all proven, of {len(written)} written", len(proven), None

    return attempted(f"The inequalities {kind}", "they failed", give)


def add(model: pyscipopt.Model, variables: Sequence[Any], inequalities: Iterable[Inequality]) -> None:
    """Add inequalities, by the places of variables, as rows that the model does not need."""
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
