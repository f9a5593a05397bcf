"""Capacitated facility location (CFL): the random instances of Cornuejols et al. (1991)."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from scipy.sparse import coo_array

from bife_core.benchmarks.base import Family
from bife_core.benchmarks.milp import MilpData


def facility_location(
    rng: RandomState,
    *,
    customers: int,
    facilities: int,
    ratio: float = 5.0,
    unit_cost: float = 10.0,
    linked: bool = True,
) -> MilpData:
    """Draw a capacitated facility location instance: open facilities and serve all demand at least cost.

    Parameters
    ----------
    rng : RandomState
        Legacy stream; the draws follow the order of learn2branch, so equal streams give equal instances.
    customers, facilities : int
        Places of demand and places that may be opened.
    ratio : float
        Total capacity over total demand, before capacities are cut to integers.
    unit_cost : float
        Cost of serving one unit of demand over one unit of distance.
    linked : bool
        Whether ``x_i_j <= y_j`` is stated. The capacities imply it for integral y; leaving it out weakens the
        relaxation, so that even small instances need branching.

    Returns
    -------
    MilpData
        Columns are the share ``x_i_j`` of customer i's demand that facility j serves (continuous, 0 to 1,
        customer by customer) and then ``y_j``, whether j is open (binary). Rows: demand of each customer,
        capacity of each facility, total capacity of what is open, and ``x_i_j <= y_j`` pair by pair.
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

    shares = customers * facilities
    share = np.arange(shares).reshape(customers, facilities)
    opened = shares + np.arange(facilities)
    capacity_row = customers + np.arange(facilities)
    total_row = np.array([customers + facilities])
    blocks = [  # (rows, columns, coefficients), each broadcast to the shape of the columns
        (np.arange(customers)[:, None], share, np.array(-1.0)),
        (capacity_row[None, :], share, demands[:, None]),
        (capacity_row, opened, -capacities),
        (total_row, opened, -capacities),
    ]
    pairs = [f"{i}_{j}" for i in range(1, customers + 1) for j in range(1, facilities + 1)]
    row_names = [
        *(f"demand_{i}" for i in range(1, customers + 1)),
        *(f"capacity_{j}" for j in range(1, facilities + 1)),
        "total_capacity",
    ]
    if linked:
        link_row = share + len(row_names)
        blocks += [
            (link_row, share, np.array(1.0)),
            (link_row, np.broadcast_to(opened, share.shape), np.array(-1.0)),
        ]
        row_names += [f"link_{pair}" for pair in pairs]
    row, column, value = (
        np.concatenate([np.broadcast_to(block[part], block[1].shape).ravel() for block in blocks])
        for part in range(3)
    )
    n_rows = len(row_names)
    row_upper = np.zeros(n_rows)
    row_upper[:customers] = -1
    row_upper[total_row] = -total_demand
    return MilpData(
        name=f"facility_location-{customers}x{facilities}",
        maximise=False,
        objective=np.concatenate([transport.ravel(), opening.astype(np.float64)]),
        lower=np.zeros(shares + facilities),
        upper=np.ones(shares + facilities),
        integer=np.arange(shares + facilities) >= shares,
        rows=coo_array(
            (value.astype(np.float64), (row, column)), shape=(n_rows, shares + facilities)
        ).tocsr(),
        row_lower=np.full(n_rows, -np.inf),
        row_upper=row_upper,
        column_names=[f"x_{pair}" for pair in pairs] + [f"y_{j}" for j in range(1, facilities + 1)],
        row_names=row_names,
    )


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
