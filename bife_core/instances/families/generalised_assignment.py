"""Generalised assignment (GAP) of type d: costs fall as loads rise (Chu and Beasley, 1997)."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState

from bife_core.instances.base import Family
from bife_core.instances.milp import Milp


def generalised_assignment(rng: RandomState, *, agents: int, jobs: int) -> Milp:
    """Draw an assignment of each job to one agent at least cost, where agents can bear 0.8 of the mean load.

    Loads are integers from 1 to 100; a cost is 111 minus the load plus an integer from -10 to 10.
    """
    loads = rng.randint(1, 101, size=(agents, jobs))
    costs = 111 - loads + rng.randint(-10, 11, size=(agents, jobs))
    capacities = np.floor(0.8 * loads.sum(axis=1) / agents)
    growing = Milp(f"generalised_assignment-{agents}x{jobs}")
    names = [f"x_{i}_{j}" for i in range(1, agents + 1) for j in range(1, jobs + 1)]
    bears = growing.columns(names, 0, 1, cost=costs.ravel(), integer=True).reshape(agents, jobs)
    for j in range(jobs):
        growing.row(f"job_{j + 1}", bears[:, j], low=1, high=1)
    for i in range(agents):
        growing.row(f"agent_{i + 1}", bears[i], loads[i], high=capacities[i])
    return growing


FAMILY = Family(
    name="generalised_assignment",
    label="GAP",
    generate=generalised_assignment,
    sizes={
        "tiny": {"agents": 3, "jobs": 15},
        "test": {"agents": 5, "jobs": 30},
        "transfer": {"agents": 6, "jobs": 40},
    },
)
