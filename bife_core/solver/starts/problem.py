"""What a start method sees: a model as arrays, its LP, and SCIP on what is left once values are fixed."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyscipopt
from scipy.sparse import csr_array

from bife_core.solver.scip.exactness import LINEAR
from bife_core.solver.scip.libscip import check, function, scip_address, scip_errors

Array = npt.NDArray[np.float64]

_INFINITE: Final = 1e20


@dataclass(frozen=True)
class Problem:
    """A model to be minimised, in its original variables.

    Attributes
    ----------
    names : tuple of str
        The n variables.
    objective, lower, upper : (n,) float64
        Coefficients and bounds, which may be infinite.
    integer : (n,) bool
        Which variables are integers; binary ones have the bounds 0 and 1.
    rows : (m, n) csr_array
        Coefficients of the linear rows. Others, which SCIP checks like all, are left out.
    lhs, rhs : (m,) float64
        Their sides, which may be infinite.
    row_names : tuple of str
    solutions : tuple of mappings
        Earlier solutions of the family, the last one last: values by the names of variables.
    seed : int
        The seed of the solve.
    limit_s : float
        CPU seconds after which an LP or a SCIP of this problem is ended, whose result then is not repeatable.
    """

    names: tuple[str, ...]
    objective: Array
    lower: Array
    upper: Array
    integer: npt.NDArray[np.bool_]
    rows: csr_array
    lhs: Array
    rhs: Array
    row_names: tuple[str, ...]
    solutions: tuple[Mapping[str, float], ...]
    seed: int
    limit_s: float

    @cached_property
    def rng(self) -> np.random.Generator:
        """Random numbers by the seed of the solve."""
        return np.random.default_rng(self.seed)

    @cached_property
    def binary(self) -> npt.NDArray[np.bool_]:
        """Which variables are binary."""
        return np.asarray(self.integer & (self.lower == 0.0) & (self.upper == 1.0))

    @cached_property
    def lp(self) -> tuple[Array, Array] | None:
        """Values of the variables and their reduced costs in the LP relaxation; None if it has no optimum.

        HiGHS solves it, with its presolving.
        """
        from scipy.optimize import linprog  # half a second, for those who ask

        equal = self.lhs == self.rhs
        above, below = ~equal & np.isfinite(self.lhs), ~equal & np.isfinite(self.rhs)
        bounded = csr_array(_stacked(self.rows[below], -self.rows[above]))
        solved = linprog(
            self.objective,
            A_ub=bounded,
            b_ub=np.concatenate([self.rhs[below], -self.lhs[above]]),
            A_eq=self.rows[equal],
            b_eq=self.rhs[equal],
            bounds=np.column_stack([self.lower, self.upper]),
            method="highs",
            options={"time_limit": self.limit_s},
        )
        if solved.status != 0:
            return None
        return solved.x, solved.lower.marginals + solved.upper.marginals

    def solve_restricted(self, fixed: Array, nodes: int) -> Array | None:
        """Let SCIP, without separation, solve what is left once variables are fixed.

        Parameters
        ----------
        fixed : (n,) float64
            Values; NaN leaves a variable free.
        nodes : int
            Nodes after which SCIP ends.

        Returns
        -------
        (n,) float64 or None
            Values of its best solution; None without one.
        """
        free = np.isnan(fixed)
        rest = self.rows @ np.where(free, 0.0, fixed)
        rows = self.rows[:, free]
        used = np.diff(rows.indptr) > 0
        left, lhs, rhs = rows[used], (self.lhs - rest)[used], (self.rhs - rest)[used]
        model = pyscipopt.Model()
        model.hideOutput()
        model.setSeparating(pyscipopt.SCIP_PARAMSETTING.OFF)
        model.setParams({"limits/nodes": int(nodes), "timing/clocktype": 1})
        model.setParam("limits/time", min(self.limit_s, _INFINITE))
        columns = zip(
            self.objective[free], self.lower[free], self.upper[free], self.integer[free], strict=True
        )
        variables = [
            model.addVar(
                obj=float(cost),
                lb=float(low) if np.isfinite(low) else None,
                ub=float(high) if np.isfinite(high) else None,
                vtype="I" if integral else "C",
            )
            for cost, low, high, integral in columns
        ]
        _add_rows(model, variables, left, lhs, rhs)
        with scip_errors("SCIP failed on the rest of a problem"):
            model.optimize()
        if model.getStatus() == "userinterrupt":
            raise KeyboardInterrupt
        if not model.getNSols():
            return None
        best, values = model.getBestSol(), np.array(fixed, dtype=np.float64)
        values[free] = [model.getSolVal(best, variable) for variable in variables]
        return values


def _stacked(*parts: Any) -> Any:
    from scipy.sparse import vstack

    return vstack(parts, format="csr")


def _add_rows(model: pyscipopt.Model, variables: list[Any], rows: csr_array, lhs: Array, rhs: Array) -> None:
    """Add linear rows by arrays: an expression of PySCIPOpt takes a hundred times as long."""
    scip, pointers = (
        ctypes.c_void_p(scip_address(model)),
        np.array([v.ptr() for v in variables], dtype=np.int64),
    )
    columns, values = pointers[rows.indices], np.ascontiguousarray(rows.data, dtype=np.float64)
    create, add, release = map(function, ("SCIPcreateConsBasicLinear", "SCIPaddCons", "SCIPreleaseCons"))
    starts, row = rows.indptr.tolist(), ctypes.c_void_p()
    for r, (low, high) in enumerate(zip(lhs.clip(-_INFINITE), rhs.clip(max=_INFINITE), strict=True)):
        first, count = starts[r], starts[r + 1] - starts[r]
        places = (ctypes.c_void_p(array.ctypes.data + 8 * first) for array in (columns, values))
        sides = (ctypes.c_double(low), ctypes.c_double(high))
        check(create(scip, ctypes.byref(row), b"r%d" % r, count, *places, *sides), "create a row")
        check(add(scip, row), "add a row")
        check(release(scip, ctypes.byref(row)), "release a row")


def problem_of(
    model: pyscipopt.Model, seed: int, limit_s: float, solutions: tuple[Mapping[str, float], ...] = ()
) -> Problem:
    """Return a model that is not being solved yet as a problem; a maximised objective is negated."""
    variables = model.getVars()
    place = {variable.ptr(): k for k, variable in enumerate(variables)}
    sense = -1.0 if model.getObjectiveSense() == "maximize" else 1.0
    linear = [row for row in model.getConss(False) if row.getConshdlrName() in LINEAR]
    columns, values, counts = list[int](), list[float](), [0]
    for row in linear:
        columns += [place[variable.ptr()] for variable in model.getConsVars(row)]
        values += model.getConsVals(row)
        counts.append(len(columns))
    sides = ((model.getLhs(row), model.getRhs(row)) for row in linear)
    lhs, rhs = np.array(list(sides), dtype=np.float64).reshape(-1, 2).T
    lower = np.array([variable.getLbOriginal() for variable in variables])
    upper = np.array([variable.getUbOriginal() for variable in variables])
    for bounds in (lhs, rhs, lower, upper):
        bounds[bounds <= -model.infinity()] = -np.inf
        bounds[bounds >= model.infinity()] = np.inf
    rows = csr_array((values, columns, counts), shape=(len(linear), len(variables)), dtype=np.float64)
    rows.sum_duplicates()
    return Problem(
        names=tuple(variable.name for variable in variables),
        objective=sense * np.array([variable.getObj() for variable in variables]),
        lower=lower,
        upper=upper,
        integer=np.array([variable.vtype() in ("BINARY", "INTEGER") for variable in variables]),
        rows=rows,
        lhs=lhs,
        rhs=rhs,
        row_names=tuple(row.name for row in linear),
        solutions=solutions,
        seed=seed,
        limit_s=limit_s,
    )
