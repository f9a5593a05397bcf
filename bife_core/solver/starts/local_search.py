"""Annealing with flips and swaps of binary variables; continuous ones follow where the rows say how."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from bife_core.solver.starts.problem import Array, Problem
from bife_core.solver.units import ANNEALING

_WORK: Final = 20_000
_LEAST_WORK, _MOST_WORK = 30_000_000, 300_000_000
"""Entries of rows and columns that the search goes through, for each of the matrix: the same on every machine.

A second on a thousand variables and seven thousand entries, two at most.
"""

_MOST_TURNS: Final = 50  # how often variables are gone through to find what follows from what


def start(problem: Problem) -> list[Array]:
    """Return the best solution that it finds, if any, for models that it `fits`."""
    if (moves := _moves(problem)) is None:
        return []
    best = _annealed(problem, *moves)
    return [] if best is None else [moves[1] * best]


def fits(problem: Problem) -> bool:
    """Whether there are binary variables, and all others follow from them."""
    return _moves(problem) is not None


def _moves(problem: Problem) -> tuple[Any, Array, npt.NDArray[np.bool_], dict[int, list[int]]] | None:
    """Return the rows and signs with which continuous variables are to be small, what moves, and what follows."""
    constant = problem.lower == problem.upper
    sign = np.where((problem.objective < 0) & ~problem.integer, -1.0, 1.0)
    rows = problem.rows.multiply(sign[None, :]).tocsr()
    followers = _followers(problem, rows.tocsc(), constant)
    moving = problem.binary.copy()
    moving[list(followers)] = True
    fitting = problem.binary.any() and (moving | constant).all()
    return (rows, sign, moving, followers) if fitting else None


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
    for turn in range(_MOST_TURNS):
        before = len(followers)
        for by_equation in (True, False):
            for variable in list(unresolved)[:: -1 if turn % 2 else 1]:  # a chain may run either way
                entries = range(starts[variable], starts[variable + 1])
                if by_equation:
                    defining = [entry for entry in entries if equal[rows[entry]] and left[rows[entry]] == 1]
                else:
                    defining = [entry for entry in entries if sides[values[entry] > 0][rows[entry]]]
                if all(left[rows[entry]] == 1 for entry in defining) and (defining or not by_equation):
                    followers[variable] = defining[:1] if by_equation else defining
                    del unresolved[variable]
                    for entry in entries:
                        left[rows[entry]] -= 1
        if len(followers) == before:
            break
    return followers


def _groups(problem: Problem, rows: Any, moving: Any, rest: Array) -> list[npt.NDArray[np.int64]]:
    """Return disjoint sets of binary variables of which a row wants exactly one."""
    taken, groups = ~problem.binary, list[npt.NDArray[np.int64]]()
    for row in np.flatnonzero(problem.lhs == problem.rhs).tolist():
        entries = slice(rows.indptr[row], rows.indptr[row + 1])
        live = moving[rows.indices[entries]]
        members, values = rows.indices[entries][live], rows.data[entries][live]
        exclusive = values.size > 1 and (values == problem.rhs[row] - rest[row]).all()
        if exclusive and not taken[members].any():
            taken[members] = True
            groups.append(np.sort(members).astype(np.int64))
    return groups


def _annealed(
    problem: Problem, rows: Any, sign: Array, moving: npt.NDArray[np.bool_], followers: dict[int, list[int]]
) -> Array | None:
    bounds = (problem.lower, problem.upper)
    lower, upper = np.where(sign > 0, bounds, (-bounds[1], -bounds[0]))
    order, n, m, columns = list(followers), len(lower), len(problem.lhs), rows.tocsc()
    least = np.where(np.isfinite(lower), lower, np.minimum(0.0, upper))
    value = np.where(moving & problem.integer, 0.0, least)
    groups = _groups(problem, rows, moving, rows @ np.where(moving, 0.0, value))
    sizes, members = np.array([*map(len, groups)], dtype=int), np.concatenate([*groups, np.zeros(0, int)])
    group_ptr, slot = np.cumsum([0, *sizes]), np.arange(len(groups)) % np.maximum(sizes, 1)
    value[members[group_ptr[:-1] + slot]] = 1.0
    free = np.setdiff1d(np.flatnonzero(problem.binary), members)
    defining = [entry for variable in order for entry in followers[variable]]
    counts, defined_row = [len(followers[variable]) for variable in order], columns.indices[defining]
    by_row = np.argsort(defined_row, kind="stable")
    row_follower_ptr = np.searchsorted(defined_row[by_row], np.arange(m + 1))
    row_follower = np.repeat(np.arange(len(order)), counts)[by_row]
    floor = [-1e30 if followers.get(k) and np.isinf(lower[k]) else low for k, low in enumerate(least)]
    objective, activity = problem.objective * sign, rows @ value
    largest = abs(rows).max(axis=1).toarray().ravel()
    scale = 1.0 / np.where(largest > 0.0, largest, 1.0)
    violation = (np.maximum(np.maximum(problem.lhs - activity, activity - problem.rhs), 0.0) * scale).sum()
    words = [problem.rng.integers(1, 2**62), min(max(_WORK * rows.nnz, _LEAST_WORK), _MOST_WORK)]
    numbers, best = np.array([objective @ value, violation, 1.0, np.inf]), np.zeros(n)
    integers = [
        [len(groups), len(free), n, len(order), 0, 0, *words], columns.indptr, columns.indices, rows.indptr,
        rows.indices, order, np.cumsum([0, *counts]), defined_row, row_follower_ptr, row_follower, group_ptr, members,
        slot, free, np.isin(np.arange(n), free), np.arange(len(order)), np.ones(len(order)), np.zeros(rows.nnz + 16),
        np.zeros(n + 16),
    ]  # fmt: skip
    doubles = [
        numbers, columns.data, columns.data[defining], objective, floor, upper, problem.lhs, problem.rhs, scale, value,
        activity, best, np.zeros(rows.nnz + 16), np.zeros(n + 16),
    ]  # fmt: skip
    arrays = [np.ascontiguousarray(array, np.int64) for array in integers]
    arrays += [np.ascontiguousarray(array, np.float64) for array in doubles]
    addresses = np.array([array.ctypes.data for array in arrays])
    ANNEALING.call("anneal", addresses.ctypes.data)
    return best if np.isfinite(numbers[-1]) else None
