"""Whether the best solution of a solve holds without SCIP's tolerances, once its integers are integers."""

from __future__ import annotations

import ctypes
import math
from operator import mul
from typing import Final

import pyscipopt

from bife_core.solver.scip.libscip import function, scip_address

_LINEAR: Final = frozenset({"linear", "knapsack", "setppc", "logicor", "varbound"})
"""Kinds of rows that have coefficients and sides; special ordered sets have weights, and no sides."""

NOT_LINEAR: Final = "a row that is not linear"

_WHOLE: Final = 2.0**53
"""Below it floating-point numbers multiply and add whole numbers exactly."""

_ROUNDED: Final = 1e-9
"""Part by which numbers of a row that are not all whole may differ from what was meant."""


def violation_of(model: pyscipopt.Model, solution: pyscipopt.scip.Solution) -> str | None:
    """Return which row of a solved model a solution misses with its integers rounded, such as ``r3 by 3``, or None.

    SCIP lets a row miss a millionth of its side, and an integer a millionth. Only linear rows count whose variables are
    integers, or at whole numbers: others may still move. Where columns are priced, which the rows lack, none does. Of
    other rows, where all variables are so, SCIP's own check of its solution counts (`NOT_LINEAR`).
    """
    if function("SCIPgetNActivePricers")(ctypes.c_void_p(scip_address(model))):
        return None
    known: dict[int, float | None] = {}
    missed, others = list[tuple[float, str]](), False

    def value_of(variable: pyscipopt.scip.Variable) -> float | None:
        if (address := variable.ptr()) not in known:
            value = model.getSolVal(solution, variable)
            whole = value.is_integer() or variable.vtype() != "CONTINUOUS"
            known[address] = float(round(value)) if whole else None
        return known[address]

    for row in model.getConss(False):
        if row.getConshdlrName() not in _LINEAR:
            others = True
            continue
        coefficients = model.getConsVals(row)
        values = [value_of(variable) for variable in model.getConsVars(row)]
        if None in values:
            continue
        terms = list(map(mul, coefficients, values))
        activity, low, high = math.fsum(terms), model.getLhs(row), model.getRhs(row)
        if (excess := max(low - activity, activity - high)) <= 0:
            continue
        size = math.fsum(map(abs, terms))
        whole = size < _WHOLE and all(map(float.is_integer, [*coefficients, low, high]))
        if excess > (0 if whole else _ROUNDED * (2 * size + excess)) and row.isChecked():
            missed.append((excess, row.name))
    if not missed:
        others = others and None not in map(value_of, model.getVars())
        wrong = others and not model.checkSol(solution, printreason=False, original=True)
        return NOT_LINEAR if wrong else None
    excess, name = max(missed)
    return f"{name} by {excess:.6g}" + (f" and {len(missed) - 1} more" if len(missed) > 1 else "")
