"""Capacitated facility location (CFL): the random instances of Cornuejols et al. (1991)."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState

from bife_core.instances.base import Family
from bife_core.instances.milp import Milp


def facility_location(
    rng: RandomState,
    *,
    customers: int,
    facilities: int,
    ratio: float = 5.0,
    unit_cost: float = 10.0,
    linked: bool = True,
) -> Milp:
    """Draw a capacitated facility location instance: open facilities and serve all demand at least cost.

    Equal streams give the instances of learn2branch. `ratio` is total capacity over total demand, `unit_cost` the cost
    of serving one unit of demand over one unit of distance. Without ``x_i_j <= y_j``, stated where `linked`, the
    relaxation is weaker, so that even small instances need branching.
    """
    customer_x, customer_y = rng.rand(customers), rng.rand(customers)
    facility_x, facility_y = rng.rand(facilities), rng.rand(facilities)
    demands = rng.randint(5, 36, size=customers)
    capacities = rng.randint(10, 161, size=facilities)
    scale = rng.randint(100, 111, size=facilities)
    base = rng.randint(91, size=facilities)
    opening = (scale * np.sqrt(capacities) + base).astype(np.int64)
    total_demand = int(demands.sum())
    capacities = (capacities * ratio * total_demand / capacities.sum()).astype(np.int64)
    distance = np.sqrt((customer_x[:, None] - facility_x) ** 2 + (customer_y[:, None] - facility_y) ** 2)
    transport = distance * unit_cost * demands[:, None]

    growing = Milp(f"facility_location-{customers}x{facilities}")
    pairs = [f"{i}_{j}" for i in range(1, customers + 1) for j in range(1, facilities + 1)]
    share = growing.columns([f"x_{pair}" for pair in pairs], 0, 1, cost=transport.ravel())
    share = share.reshape(customers, facilities)
    names = [f"y_{j}" for j in range(1, facilities + 1)]
    opened = growing.columns(names, 0, 1, cost=opening, integer=True)
    for i in range(customers):
        growing.row(f"demand_{i + 1}", share[i], -1, high=-1)
    for j in range(facilities):
        growing.row(f"capacity_{j + 1}", [*share[:, j], opened[j]], [*demands, -capacities[j]], high=0)
    growing.row("total_capacity", opened, -capacities, high=-total_demand)
    if linked:
        for pair, column, y in zip(pairs, share.ravel(), np.tile(opened, customers), strict=True):
            growing.row(f"link_{pair}", [column, y], [1, -1], high=0)
    return growing


FAMILY = Family(
    name="facility_location",
    label="CFL",
    generate=facility_location,
    sizes={
        "tiny": {"customers": 25, "facilities": 25, "ratio": 4.0, "unit_cost": 30.0, "linked": False},
        "test": {"customers": 100, "facilities": 100},
        "transfer": {"customers": 200, "facilities": 100},
    },
)
