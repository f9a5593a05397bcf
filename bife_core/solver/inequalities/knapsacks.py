"""Facets of the knapsacks of binaries that a point violates."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pyscipopt

from bife_core.solver.inequalities.certificates import Inequality
from bife_core.solver.inequalities.rounds import VIOLATED, Writer, violated
from bife_core.solver.starts.problem import Array, Problem

_CAPACITY: Final = 10_000

_LARGEST: Final = 1_000_000
"""Items times capacity of what is separated exactly at most: 8 MB."""

_ALL: Final = 5_000_000
"""Items times capacity of all knapsacks that are looked at: the first ones of a model."""


def knapsack(weights: Array, capacity: float) -> tuple[Array, int, Array] | None:
    """Return a row ``weights @ x <= capacity`` of binaries as a knapsack, or None.

    Items of negative weight are complemented, as the last array says. Then the weights are small integers, not all the
    same, and the items do not fit together.
    """
    complemented = weights < 0.0
    sizes, room = np.abs(weights), capacity - weights[complemented].sum()
    if not 1.0 <= room <= _CAPACITY or (weights != weights.round()).any() or (sizes == 0.0).any():
        return None
    room = int(np.floor(room + 1e-9))
    return None if (sizes == sizes[0]).all() or sizes.sum() <= room else (sizes, room, complemented)


def facets_of(problem: Problem, ends: float = np.inf) -> Writer:
    """Return what writes violated facets of the rows of binaries whose weights are integers.

    It looks at no further row once this thread has had CPU seconds up to `ends`.
    """
    spent, looked_at = 0, list[_Knapsack]()
    for each in _knapsacks_of(problem):
        if (spent := spent + len(each.sizes) * each.capacity) > _ALL:
            break
        looked_at.append(each)

    def write(x: Array) -> list[Inequality]:
        written = []
        for row, columns, sizes, capacity, complemented in looked_at:
            if time.thread_time() >= ends:
                break
            values = np.where(complemented, 1.0 - x[columns], x[columns])
            if (lifted := facet(sizes, capacity, values)) is not None:
                terms, side = lifted
                side -= float(terms[complemented].sum())
                written += violated(x, columns, np.where(complemented, -terms, terms), side, (row,))
        return written

    return write


class _Knapsack(NamedTuple):
    row: int
    columns: Array
    sizes: Array
    capacity: int
    complemented: Array


def _knapsacks_of(problem: Problem) -> Iterator[_Knapsack]:
    """Yield the knapsacks of each side of a row."""
    filled = np.flatnonzero(np.diff(problem.indptr))
    sizes, begin = np.abs(problem.data), problem.indptr[:-1][filled]
    unlike = np.minimum.reduceat(sizes, begin) < np.maximum.reduceat(sizes, begin)
    for row in filled[unlike].tolist():
        entries = slice(problem.indptr[row], problem.indptr[row + 1])
        columns, weights = problem.indices[entries], problem.data[entries]
        if not problem.binary[columns].all():
            continue
        for sign, side in ((1.0, problem.rhs[row]), (-1.0, -problem.lhs[row])):
            if (items := knapsack(sign * weights, side)) is not None:
                yield _Knapsack(row, columns, *items)


def facet(weights: Array, capacity: int, x: Array) -> tuple[Array, float] | None:
    """Return a facet of a knapsack of binaries that a point violates, as coefficients and side, or None.

    It is separated exactly on the fractional items, and lifted one by one to those that the point packs and leaves out.
    """
    free = np.flatnonzero((x > 1e-6) & (x < 1.0 - 1e-6))
    packed, left_out = (np.flatnonzero(which) for which in (x >= 1.0 - 1e-6, x <= 1e-6))
    if not len(free):
        return None
    core, room = free.tolist(), capacity - int(weights[packed].sum())
    packed = packed[np.argsort(weights[packed])]
    while len(packed) and room < weights[core].max():  # each item of the core must fit alone
        core.append(int(packed[0]))
        room, packed = room + int(weights[packed[0]]), packed[1:]
    if room < weights[core].max():
        return None
    terms = np.zeros(len(weights))
    if (separated := _separated(weights[core], room, x[core])) is None:
        return None
    terms[core], side = separated, 1.0
    most = np.zeros(capacity + 1)  # of the lifted terms, by capacity
    for item in core:
        _pack(most, int(weights[item]), terms[item])
    for item in packed[::-1]:
        weight = int(weights[item])
        terms[item] = max(most[room + weight] - side, 0.0)
        side, room = side + terms[item], room + weight
        _pack(most, weight, terms[item])
    for item in left_out[np.argsort(weights[left_out])]:
        weight = int(weights[item])
        terms[item] = max(side - (most[capacity - weight] if weight <= capacity else 0.0), 0.0)
        _pack(most, weight, terms[item])
    terms[np.abs(terms) < 1e-5 * np.abs(terms).max()] = 0.0
    return terms, side


def _pack(most: Array, weight: int, value: float) -> None:
    if value > 0.0 and weight < len(most):
        most[weight:] = np.maximum(most[weight:], most[: len(most) - weight] + value)


def _separated(weights: Array, capacity: int, x: Array) -> Array | None:
    """Return the coefficients of the inequality with side 1 that x violates most, by rows for each packing."""
    if len(weights) * capacity > _LARGEST:
        return None
    lp = pyscipopt.LP(sense="maximize")
    for value in x.tolist():
        lp.addCol([], value, 0.0, 1.0)
    for _ in range(200):
        if lp.solve() <= 1.0 + VIOLATED:
            return None
        terms = np.array(lp.getPrimal())
        most = np.zeros((len(terms) + 1, capacity + 1))
        for item, weight in enumerate(weights.astype(int).tolist()):
            most[item + 1] = most[item]
            _pack(most[item + 1], weight, terms[item])
        if most[-1, -1] <= 1.0 + 1e-7:
            return np.asarray(terms / max(float(most[-1, -1]), 1.0))
        packing, room = [], capacity
        for item in reversed(range(len(terms))):
            if most[item + 1, room] > most[item, room]:
                packing.append((item, 1.0))
                room -= int(weights[item])
        lp.addRow(packing, -lp.infinity(), 1.0)
    return None
