"""Annealing with flips and swaps of binary variables; continuous ones follow where the rows say how."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from bife_core.base.native import ObjectCode, kept
from bife_core.solver.code_digest import code_digest, digest_of_code
from bife_core.solver.starts import layout
from bife_core.solver.starts.problem import Array, Problem

_WORK: Final = 20_000
_LEAST_WORK, _MOST_WORK = 5_000_000, 300_000_000
"""Entries of rows and columns that the search goes through, for each of the matrix: the same on every machine.

A second on a thousand variables and seven thousand entries, two at most.
"""


@cache
def _anneal() -> int:
    source = Path(__file__).with_name("annealing.py").read_bytes()
    return int(kept(f"annealing-{digest_of_code([source, code_digest().encode()])}", _built).load()("anneal"))


def _built() -> ObjectCode:
    from bife_core.solver.jit import object_code
    from bife_core.solver.starts.annealing import FUNCTIONS

    return object_code(FUNCTIONS)


def prepare() -> None:
    """Have the machine code on disk before workers start, which may not write there."""
    _anneal()


def start(problem: Problem) -> list[Array]:
    """Return the best solution that it finds, if any, for models whose variables are binary or follow from others."""
    constant = problem.lower == problem.upper
    # Rows are written for continuous variables that are to be small.
    sign = np.where((problem.objective < 0) & ~problem.integer, -1.0, 1.0)
    rows = problem.rows.multiply(sign[None, :]).tocsr()
    followers = _followers(problem, rows.tocsc(), constant)
    moving = problem.binary.copy()
    moving[list(followers)] = True
    if not problem.binary.any() or not (moving | constant).all():
        return []
    best = _annealed(problem, rows, sign, moving, followers)
    return [] if best is None else [sign * best]


def _followers(problem: Problem, columns: Any, constant: npt.NDArray[np.bool_]) -> dict[int, list[int]]:
    """Return the continuous variables whose value follows from others, in an order, and the entries that define each.

    It is the least that the rows allow which bound it from below by others alone; or that of an equation in them.
    """
    unresolved = dict.fromkeys(np.flatnonzero(~problem.integer & ~constant).tolist())
    starts, rows, values = columns.indptr.tolist(), columns.indices.tolist(), columns.data.tolist()
    left = [0] * len(problem.lhs)
    for variable in unresolved:
        for entry in range(starts[variable], starts[variable + 1]):
            left[rows[entry]] += 1
    equal = (problem.lhs == problem.rhs).tolist()
    sides = (np.isfinite(problem.rhs).tolist(), np.isfinite(problem.lhs).tolist())
    followers: dict[int, list[int]] = {}
    while True:
        before = len(followers)
        for by_equation in (True, False):
            for variable in list(unresolved):
                entries = range(starts[variable], starts[variable + 1])
                if by_equation:
                    defining = [entry for entry in entries if equal[rows[entry]] and left[rows[entry]] == 1][
                        :1
                    ]
                else:
                    defining = [entry for entry in entries if sides[values[entry] > 0][rows[entry]]]
                    if any(left[rows[entry]] > 1 for entry in defining):
                        continue
                if defining or not by_equation:
                    followers[variable] = defining
                    del unresolved[variable]
                    for entry in entries:
                        left[rows[entry]] -= 1
        if len(followers) == before:
            return followers


def _groups(
    problem: Problem, rows: Any, moving: npt.NDArray[np.bool_], rest: Array
) -> list[npt.NDArray[np.int64]]:
    """Return disjoint sets of binary variables of which a row wants exactly one, those of large entries first."""
    taken, groups = ~problem.binary, list[npt.NDArray[np.int64]]()
    for row in np.flatnonzero(problem.lhs == problem.rhs).tolist():
        entries = slice(rows.indptr[row], rows.indptr[row + 1])
        live = moving[rows.indices[entries]]
        members, values = rows.indices[entries][live], rows.data[entries][live]
        exclusive = values.size > 1 and (values == problem.rhs[row] - rest[row]).all()
        if exclusive and not taken[members].any():
            taken[members] = True
            groups.append(np.sort(members).astype(np.int64))
    weight = abs(rows).sum(axis=0)
    return sorted(groups, key=lambda members: -float(weight[members].sum()))


def _annealed(
    problem: Problem, rows: Any, sign: Array, moving: npt.NDArray[np.bool_], followers: dict[int, list[int]]
) -> Array | None:
    lower, upper = (
        np.where(sign > 0, problem.lower, -problem.upper),
        np.where(sign > 0, problem.upper, -problem.lower),
    )
    value = np.where(moving & ~problem.integer & np.isfinite(lower), lower, 0.0)
    value[~moving] = lower[~moving]
    groups = _groups(problem, rows, moving, rows @ np.where(moving, 0.0, value))
    columns, by_row = rows.tocsc(), rows.sorted_indices()
    n, m, order = len(lower), len(problem.lhs), list(followers)
    lower = np.where(
        np.isfinite(lower), lower, [-1e30 if followers.get(v) else min(0.0, upper[v]) for v in range(n)]
    )
    defining = [entry for variable in order for entry in followers[variable]]
    positions = np.repeat(np.arange(len(order)), [len(followers[variable]) for variable in order])
    defined_rows = columns.indices[defining]
    by_defined = np.argsort(defined_rows, kind="stable")
    largest = abs(rows).max(axis=1).toarray().ravel()
    scale = 1.0 / np.where(largest > 0.0, largest, 1.0)
    grouped = np.concatenate([*groups, np.zeros(0, dtype=np.int64)])
    free = np.setdiff1d(np.flatnonzero(problem.binary), grouped)
    objective, activity = problem.objective * sign, rows @ value
    excess = np.maximum(np.maximum(problem.lhs - activity, activity - problem.rhs), 0.0) * scale
    work, best = min(max(_WORK * rows.nnz, _LEAST_WORK), _MOST_WORK), np.zeros(n)
    words, numbers = np.zeros(layout.N_WORDS, np.int64), np.zeros(layout.N_NUMBERS)
    words[[layout.N_GROUPS, layout.N_FREE, layout.N_VARIABLES, layout.N_DIRTY]] = (
        len(groups),
        len(free),
        n,
        len(order),
    )
    words[[layout.RANDOM, layout.WORK]] = problem.rng.integers(1, 2**62), work
    numbers[[layout.COST, layout.VIOLATION]] = objective @ value, excess.sum()
    numbers[[layout.WEIGHT, layout.BEST_COST]] = 10.0 * (abs(objective).max() or 1.0), np.inf
    arrays = {
        layout.WORDS: words,
        layout.NUMBERS: numbers,
        layout.COL_PTR: columns.indptr,
        layout.COL_ROW: columns.indices,
        layout.COL_VAL: columns.data,
        layout.ROW_PTR: by_row.indptr,
        layout.ROW_COL: by_row.indices,
        layout.OBJECTIVE: objective,
        layout.LOWER: lower,
        layout.UPPER: upper,
        layout.LHS: problem.lhs,
        layout.RHS: problem.rhs,
        layout.SCALE: scale,
        layout.FOLLOWER: order,
        layout.DEFINED_PTR: np.cumsum([0, *(len(followers[variable]) for variable in order)]),
        layout.DEFINED_ROW: defined_rows,
        layout.DEFINED_VAL: columns.data[defining],
        layout.ROW_FOLLOWER_PTR: np.searchsorted(defined_rows[by_defined], np.arange(m + 1)),
        layout.ROW_FOLLOWER: positions[by_defined],
        layout.GROUP_PTR: np.cumsum([0, *map(len, groups)]),
        layout.GROUP_MEMBER: grouped,
        layout.SLOT: np.full(len(groups), -1),
        layout.FREE: free,
        layout.IS_FREE: np.isin(np.arange(n), free),
        layout.VALUE: value,
        layout.ACTIVITY: activity,
        layout.BEST: best,
        layout.ROW_LOG: np.zeros(rows.nnz + 16, np.int64),
        layout.ROW_OLD: np.zeros(rows.nnz + 16),
        layout.VAR_LOG: np.zeros(n + 16, np.int64),
        layout.VAR_OLD: np.zeros(n + 16),
        layout.DIRTY: np.arange(len(order)),
        layout.IS_DIRTY: np.ones(len(order), np.int64),
    }
    kinds = {True: np.float64, False: np.int64}
    kept_alive = [
        np.ascontiguousarray(array, kinds[np.asarray(array).dtype.kind == "f"])
        for _, array in sorted(arrays.items())
    ]
    addresses = np.array([array.ctypes.data for array in kept_alive])
    ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(_anneal())(addresses.ctypes.data)
    return best if np.isfinite(numbers[layout.BEST_COST]) else None
