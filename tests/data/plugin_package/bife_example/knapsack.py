"""Multidimensional knapsack (MKP): pack items of highest value into several limited resources."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from scipy.sparse import csr_array

from bife_core.benchmarks.base import Family
from bife_core.benchmarks.milp import MilpData, binary_program


def knapsack(rng: RandomState, *, items: int, resources: int) -> MilpData:
    """Draw a model: maximise the value packed; each resource allows for half of the total demand, scaled to 1."""
    demand = rng.randint(1, 1001, size=(resources, items))
    value = demand.mean(axis=0) + rng.randint(1, 501, size=items)
    return binary_program(
        f"knapsack-{items}x{resources}",
        maximise=True,
        objective=value.astype(np.float64),
        rows=csr_array(demand / (0.5 * demand.sum(axis=1, keepdims=True))),
        row_upper=1,
    )


FAMILY = Family(
    name="knapsack",
    label="MKP",
    generate=knapsack,
    sizes={
        "tiny": {"items": 30, "resources": 5},
        "test": {"items": 100, "resources": 5},
        "transfer": {"items": 100, "resources": 10},
    },
)
