"""What a start method sees: a model as arrays, its LP, and SCIP on what is left once values are fixed."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyscipopt
from pyscipopt import SCIP_LPPARAM
from scipy.sparse import csr_array

from bife_core.solver.scip.exactness import LINEAR
from bife_core.solver.scip.libscip import check, function, scip_address, scip_errors

Array: TypeAlias = npt.NDArray[Any]

_INFINITY: Final = 1e20
_TOLERANCE: Final = 1e-6


@dataclass(frozen=True)
class Problem:
    """A model to be minimised: n variables and m linear rows; rows of other kinds SCIP alone checks.

    Attributes
    ----------
    names, row_names : tuple of str
    objective, lower, upper : (n,) float64
        Coefficients and bounds, which may be infinite, as may `lhs` and `rhs`.
    integer, binary : (n,) bool
        Which variables are integers, and which of these have the bounds 0 and 1.
    rows : (m, n) csr_array
        Made of `data`, `indices` and `indptr`; ``lhs <= rows @ x <= rhs``.
    lhs, rhs : (m,) float64
    solutions : tuple of mappings
        Earlier solutions of the family, the last one last: values by the names of variables.
    seed : int
        The seed of the solve, and of `rng`.
    limit_s : float
        CPU seconds after which `lp` and `solve_restricted` end, which then are not repeatable.
    initial : (m,) bool
        Which rows are in SCIP's first LP; the others are on demand, in `solve_restricted` too.
    """

    names: tuple[str, ...]
    row_names: tuple[str, ...]
    objective: Array
    lower: Array
    upper: Array
    integer: Array
    data: Array
    indices: Array
    indptr: Array
    lhs: Array
    rhs: Array
    solutions: tuple[Mapping[str, float], ...]
    seed: int
    limit_s: float
    initial: Array

    @cached_property
    def binary(self) -> Array:  # noqa: D102
        return np.asarray(self.integer & (self.lower == 0.0) & (self.upper == 1.0))

    @cached_property
    def rows(self) -> csr_array:  # noqa: D102
        places = (self.indices.astype(np.int64), self.indptr.astype(np.int64))
        return csr_array((self.data, *places), shape=(len(self.lhs), len(self.names)))

    @cached_property
    def rng(self) -> np.random.Generator:  # noqa: D102
        return np.random.default_rng(self.seed)

    @cached_property
    def lp(self) -> tuple[Array, Array] | None:
        """Values of the variables and their reduced costs in the LP relaxation, by SoPlex; None without an optimum.

        Rows on demand enter it where they are violated.
        """
        lp = pyscipopt.LP(sense="minimize")  # SciPy's takes longer to import than most of these LPs to solve
        columns = np.clip((self.objective, self.lower, self.upper), -_INFINITY, _INFINITY).tolist()
        lp.addCols([[]] * len(self.names), *columns)
        sides = np.clip((self.lhs, self.rhs), -_INFINITY, _INFINITY)
        allowed = _TOLERANCE * np.maximum(np.abs(sides).min(axis=0), 1.0)
        missing, new = ~self.initial, self.initial
        ends = time.thread_time() + self.limit_s
        while (rest_s := ends - time.thread_time()) > 0.0:
            rows = self.rows[new]
            terms = [*zip(rows.indices.tolist(), rows.data.tolist(), strict=True)]
            places = rows.indptr.tolist()
            lp.addRows([terms[first:last] for first, last in pairwise(places)], *sides[:, new].tolist())
            lp.setRealParam(SCIP_LPPARAM.LPTILIM, min(rest_s, _INFINITY))
            lp.solve()
            new = missing  # without them it may be unbounded
            if lp.isOptimal():
                values = np.array(lp.getPrimal())
                activity = self.rows @ values
                new = missing & ((activity < sides[0] - allowed) | (activity > sides[1] + allowed))
            if not new.any():
                return (values, np.array(lp.getRedcost())) if lp.isOptimal() else None
            missing = missing & ~new
        return None

    def solve_restricted(self, fixed: Array, nodes: int, stall_nodes: int = -1) -> Array | None:
        """Let SCIP, without separation and strong branching, solve what is left once what is not NaN is `fixed`.

        It ends after so many `nodes`, or `stall_nodes` (-1: any number) since the last solution, or the root if there
        was none. Returns the values of all variables in its best solution; None without one.
        """
        free = np.isnan(fixed)
        rest, rows = self.rows @ np.where(free, 0.0, fixed), self.rows[:, free]
        sides = self.lhs - rest, self.rhs - rest
        allowed = _TOLERANCE * np.maximum(np.abs(rest), 1.0)
        if ((np.diff(rows.indptr) == 0) & ((sides[0] > allowed) | (sides[1] < -allowed))).any():
            return None  # the model below has no row without variables
        model, variables = new_model(self, free, rows, *sides, self.initial)
        model.setSeparating(pyscipopt.SCIP_PARAMSETTING.OFF)
        ends = {"limits/nodes": int(nodes), "limits/stallnodes": int(stall_nodes)}
        limits = {**ends, "limits/time": min(self.limit_s, _INFINITY)}
        clock = {"timing/clocktype": 1, "timing/rareclockcheck": True}
        # Strong branching would take longer than all of so few nodes.
        model.setParams(limits | clock | {"branching/pscost/priority": 1_000_000})
        with scip_errors("SCIP failed on the rest of a problem"):
            model.optimize()
        if model.getStatus() == "userinterrupt":
            raise KeyboardInterrupt
        if not model.getNSols():
            return None
        best, values = model.getBestSol(), np.array(fixed, dtype=np.float64)
        values[free] = [model.getSolVal(best, variable) for variable in variables]
        return values


def new_model(
    problem: Problem,
    columns: Array,
    rows: csr_array,
    lhs: Array,
    rhs: Array,
    initial: Array | None = None,
    model: pyscipopt.Model | None = None,
) -> tuple[pyscipopt.Model, list[pyscipopt.scip.Variable]]:
    """Return a model of some columns of a problem and of rows over these, and its variables.

    Rows that are not `initial` are on demand. A `model` that is given is emptied before: a new one takes milliseconds.
    """
    if model is None:
        model = pyscipopt.Model()
        model.hideOutput()
    else:
        model.freeProb()
        model.createProbBasic()
    bounds = np.clip((problem.lower[columns], problem.upper[columns]), -_INFINITY, _INFINITY).tolist()
    kinds = np.where(problem.integer[columns], "I", "C").tolist()
    facts = zip(*bounds, problem.objective[columns].tolist(), kinds, strict=True)
    variables = [model.addVar(vtype=kind, lb=low, ub=high, obj=cost) for low, high, cost, kind in facts]
    # By arrays: an expression of PySCIPOpt takes a hundred times as long.
    scip, row = ctypes.c_void_p(scip_address(model)), ctypes.c_void_p()
    pointers = np.array([variable.ptr() for variable in variables], dtype=np.int64)[rows.indices]
    create, add, release = map(function, ("SCIPcreateConsBasicLinear", "SCIPaddCons", "SCIPreleaseCons"))
    set_initial, set_removable = map(function, ("SCIPsetConsInitial", "SCIPsetConsRemovable"))
    sides = np.clip((lhs, rhs), -_INFINITY, _INFINITY).T.tolist()
    for r, (first, last) in enumerate(zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)):
        if last > first:
            terms = (ctypes.c_void_p(array.ctypes.data + 8 * first) for array in (pointers, rows.data))
            limits = map(ctypes.c_double, sides[r])
            check(create(scip, ctypes.byref(row), b"r%d" % r, last - first, *terms, *limits), "create a row")
            if initial is not None and not initial[r]:
                check(set_initial(scip, row, 0), "put a row on demand")
                check(set_removable(scip, row, 1), "put a row on demand")
            check(add(scip, row), "add a row")
            check(release(scip, ctypes.byref(row)), "release a row")
    return model, variables


def problem_of(
    model: pyscipopt.Model, seed: int, limit_s: float, solutions: tuple[Mapping[str, float], ...] = ()
) -> Problem:
    """Return a model that is not being solved yet as a problem; a maximised objective is negated."""
    variables, infinity = model.getVars(), model.infinity()
    place = {variable.ptr(): k for k, variable in enumerate(variables)}
    linear = [row for row in model.getConss(False) if row.getConshdlrName() in LINEAR]
    entries = [
        _summed([place[variable.ptr()] for variable in model.getConsVars(row)], model.getConsVals(row))
        for row in linear
    ]

    def numbers(values: Any) -> Array:
        array = np.array(list(values), dtype=np.float64)
        return np.where(np.abs(array) >= infinity, np.copysign(np.inf, array), array)

    objective = numbers(variable.getObj() for variable in variables)
    return Problem(
        names=tuple(variable.name for variable in variables),
        row_names=tuple(row.name for row in linear),
        objective=-objective if model.getObjectiveSense() == "maximize" else objective,
        lower=numbers(variable.getLbOriginal() for variable in variables),
        upper=numbers(variable.getUbOriginal() for variable in variables),
        integer=np.array([variable.vtype() in ("BINARY", "INTEGER") for variable in variables]),
        data=numbers(value for row in entries for value in row.values()),
        indices=np.array([column for row in entries for column in row], dtype=np.int64),
        indptr=np.cumsum([0, *map(len, entries)]),
        lhs=numbers(map(model.getLhs, linear)),
        rhs=numbers(map(model.getRhs, linear)),
        solutions=solutions,
        seed=seed,
        limit_s=limit_s,
        initial=np.array([row.isInitial() for row in linear], dtype=bool),
    )


def _summed(columns: list[int], values: list[float]) -> dict[int, float]:
    """Return the coefficients of a row by column: a row of an LP file may name a variable twice."""
    row = dict.fromkeys(columns, 0.0)
    for column, value in zip(columns, values, strict=True):
        row[column] += value
    return row
