"""Whether the best solution of a solve is feasible without SCIP's tolerances, with its integers rounded."""

from __future__ import annotations

import math
from operator import mul
from typing import Final

import pyscipopt

from bife_core.solver.scip.libscip import has_pricers

LINEAR: Final = frozenset({"linear", "knapsack", "setppc", "logicor", "varbound"})

NOT_LINEAR: Final = "a row that is not linear"

_WHOLE: Final = 2.0**53  # below it, floating-point numbers multiply and add integers exactly

NO_INTEGER: Final = "which is to be an integer"

UNROUNDED: Final = "without any rounding"

_FAR: Final = 100.0  # times SCIP's tolerance, from an integer

_ROUNDED: Final = 1e-9  # relative error allowed in a row whose numbers are not all integers


def violation_of(model: pyscipopt.Model, solution: pyscipopt.scip.Solution) -> str | None:
    """Return the row of a solved model that a solution violates most with integers rounded, as ``r3 by 3``, or None.

    An integer variable that is far from an integer comes first (`NO_INTEGER`). Linear rows whose variables are all
    integers or at integral values are to hold exactly. In others, whose variables could be adjusted, only what is far
    beyond SCIP's tolerance counts (`UNROUNDED`): presolving may give a solution that SCIP's own check refuses. If all
    variables are integral, rows that are not linear are checked by SCIP itself (`NOT_LINEAR`). With pricers nothing is
    checked, since rows lack the priced columns.
    """
    if has_pricers(model):
        return None
    far, rounded = _FAR * model.feastol(), dict[int, float | None]()
    for variable in model.getVars():
        if variable.vtype() in ("BINARY", "INTEGER"):
            value = model.getSolVal(solution, variable)
            rounded[variable.ptr()] = nearest = float(round(value))
            if abs(value - nearest) > far:
                return f"{variable.name} = {value:.6g}, {NO_INTEGER}"
    missed, has_others = list[tuple[float, str, str]](), False

    def value_of(variable: pyscipopt.scip.Variable) -> float | None:
        if (address := variable.ptr()) not in rounded:
            value = model.getSolVal(solution, variable)
            integral = value.is_integer() or variable.vtype() != "CONTINUOUS"
            rounded[address] = float(round(value)) if integral else None
        return rounded[address]

    for row in model.getConss(False):
        if row.getConshdlrName() not in LINEAR:
            has_others = True
            continue
        coefficients = model.getConsVals(row)
        variables = model.getConsVars(row)
        values = [value_of(variable) for variable in variables]
        integral = None not in values
        if not integral:
            values = [model.getSolVal(solution, variable) for variable in variables]
        terms = list(map(mul, coefficients, values))
        activity, low, high = math.fsum(terms), model.getLhs(row), model.getRhs(row)
        if (excess := max(low - activity, activity - high)) <= 0:
            continue
        size = math.fsum(map(abs, terms))
        exact = integral and size < _WHOLE and all(map(float.is_integer, [*coefficients, low, high]))
        allowed = 0.0 if exact else _ROUNDED * (2 * size + excess)
        if not integral:
            allowed = max(allowed, far * max(1.0, abs(activity)))
        if excess > allowed and row.isChecked():
            missed.append((excess, row.name, "" if integral else f" {UNROUNDED}"))
    if not missed:
        checkable = has_others and None not in map(value_of, model.getVars())
        wrong = checkable and not model.checkSol(solution, printreason=False, original=True)
        return NOT_LINEAR if wrong else None
    excess, name, how = max(missed)
    more = f" and {len(missed) - 1} more" if len(missed) > 1 else ""
    return f"{name} by {excess:.6g}{more}{how}"
