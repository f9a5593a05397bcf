"""Multidimensional knapsack (MKP): pack items of highest value into several limited resources."""

from __future__ import annotations

from numpy.random import RandomState

from bife_core.extend import Family, Milp


def knapsack(rng: RandomState, *, items: int, resources: int) -> Milp:
    """Draw a model: maximise the value packed; each resource allows for half of the total demand, scaled to 1."""
    demand = rng.randint(1, 1001, size=(resources, items))
    value = demand.mean(axis=0) + rng.randint(1, 501, size=items)
    growing = Milp(f"knapsack-{items}x{resources}", maximise=True)
    columns = growing.columns([f"x{j}" for j in range(1, items + 1)], 0, 1, cost=value, integer=True)
    for i, needed in enumerate(demand, start=1):
        growing.row(f"c{i}", columns, needed / (0.5 * needed.sum()), high=1)
    return growing


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
