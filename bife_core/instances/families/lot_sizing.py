"""Capacitated lot sizing (CLS) with set-up times on one machine (Trigeiro, Thomas and McClain, 1989)."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState

from bife_core.instances.base import Family
from bife_core.instances.milp import Milp


def lot_sizing(rng: RandomState, *, items: int, periods: int, load: float = 1.0) -> Milp:
    """Draw a capacitated lot-sizing instance: meet each period's demand at least cost of set-ups, stock and overtime.

    A set-up takes time, a unit of an item one of time. The capacity of each period is that of making all demand in the
    period it falls due, on average, over `load`. Where it does not suffice overtime does, so that all are feasible.
    """
    demand = rng.randint(20, 181, size=(items, periods)) * (rng.rand(items, periods) < 0.75)
    demand[:, 0] = rng.randint(20, 181, size=items)
    setup_time = rng.randint(10, 51, size=items)
    setup_cost = rng.randint(200, 1001, size=items)
    holding = rng.randint(1, 6, size=items)
    work = (demand + setup_time[:, None] * (demand > 0)).sum()
    capacity = float(np.ceil(work / periods / load))

    growing = Milp(f"lot_sizing-{items}x{periods}")
    pairs = [f"{i}_{t}" for i in range(1, items + 1) for t in range(1, periods + 1)]
    shape = (items, periods)
    makes = growing.columns([f"make_{pair}" for pair in pairs], 0, np.inf).reshape(shape)
    names, costs = [f"setup_{pair}" for pair in pairs], np.repeat(setup_cost, periods)
    sets_up = growing.columns(names, 0, 1, cost=costs, integer=True).reshape(shape)
    names, costs = [f"stock_{pair}" for pair in pairs], np.repeat(holding, periods)
    stock = growing.columns(names, 0, np.inf, cost=costs).reshape(shape)
    overtime = growing.columns([f"overtime_{t}" for t in range(1, periods + 1)], 0, np.inf, cost=50.0)
    for i in range(items):
        for t in range(periods):
            columns = [*([stock[i, t - 1]] if t else []), makes[i, t], stock[i, t]]
            due, flow = int(demand[i, t]), [1.0] * (len(columns) - 1) + [-1.0]
            growing.row(f"balance_{i + 1}_{t + 1}", columns, flow, low=due, high=due)
            left = int(demand[i, t:].sum())
            growing.row(f"produce_{i + 1}_{t + 1}", [makes[i, t], sets_up[i, t]], [1.0, -left], high=0)
    for t in range(periods):
        columns = [*makes[:, t], *sets_up[:, t], overtime[t]]
        growing.row(f"capacity_{t + 1}", columns, [*[1.0] * items, *setup_time, -1.0], high=capacity)
    return growing


FAMILY = Family(
    name="lot_sizing",
    label="CLS",
    generate=lot_sizing,
    sizes={
        "tiny": {"items": 3, "periods": 8},
        "test": {"items": 10, "periods": 20},
        "transfer": {"items": 12, "periods": 24},
    },
)
