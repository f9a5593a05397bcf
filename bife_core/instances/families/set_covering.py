"""Set covering (SC): the random instances of Balas and Ho (1980) in the sizes of the paper."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from scipy.sparse import csc_array

from bife_core.instances.base import Family
from bife_core.instances.milp import Milp


def set_covering(
    rng: RandomState, *, rows: int, columns: int, density: float = 0.05, max_cost: int = 100
) -> Milp:
    """Draw a set covering instance: choose columns of least cost so that each row is covered.

    Equal streams give the instances of learn2branch. Each column covers two rows or more; `density` is the share of
    nonzero coefficients, costs are integers from 1 to `max_cost`.
    """
    nonzeros = int(rows * columns * density)
    picks = rng.choice(columns, size=nonzeros)
    picks[: 2 * columns] = np.repeat(np.arange(columns), 2)
    lengths = np.bincount(picks, minlength=columns)

    # The first `rows` places hold each row once; columns take consecutive places, so none stays uncovered.
    places = np.empty(nonzeros, dtype=np.int64)
    places[:rows] = rng.permutation(rows)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if begin >= rows:
            places[begin:end] = rng.choice(rows, size=end - begin, replace=False)
        elif end > rows:
            others = np.setdiff1d(np.arange(rows), places[begin:rows], assume_unique=True)
            places[rows:end] = rng.choice(others, size=end - rows, replace=False)
    costs = rng.randint(max_cost, size=columns) + 1

    growing = Milp(f"set_covering-{rows}x{columns}")
    growing.columns([f"x{j}" for j in range(1, columns + 1)], 0, 1, cost=costs, integer=True)
    matrix = csc_array((np.ones(nonzeros), places, starts), shape=(rows, columns)).tocsr()
    growing.sums(np.split(matrix.indices, matrix.indptr[1:-1]), low=1)
    return growing


FAMILY = Family(
    name="set_covering",
    label="SC",
    generate=set_covering,
    sizes={
        "tiny": {"rows": 110, "columns": 130, "density": 0.15, "max_cost": 3},
        "test": {"rows": 500, "columns": 1000},
        "transfer": {"rows": 1000, "columns": 1000},
    },
)
