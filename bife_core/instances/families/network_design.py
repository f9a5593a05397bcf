"""Fixed-charge multicommodity network design (ND), as in Crainic, Frangioni and Gendron (2001)."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState

from bife_core.instances.base import Family
from bife_core.instances.milp import Milp


def network_design(
    rng: RandomState, *, nodes: int, arcs: int, commodities: int, fixed: float = 1.0, linked: bool = True
) -> Milp:
    """Draw a network: open arcs, at a fixed cost each, and send each commodity from its origin to its destination.

    A random cycle through all nodes, whose arcs can carry everything, makes every instance feasible; the other arcs
    carry some commodities. `fixed` is the fixed cost of a unit of capacity over what a unit of flow costs on average.
    Without ``x_a_k <= y_a``, stated where `linked`, the relaxation is weaker, so that small instances need branching.
    """
    cycle = rng.permutation(nodes)
    ends = list(zip(cycle.tolist(), np.roll(cycle, -1).tolist(), strict=True))
    others = [(i, j) for i in range(nodes) for j in range(nodes) if i != j and (i, j) not in set(ends)]
    ends += [others[k] for k in rng.choice(len(others), size=arcs - nodes, replace=False)]
    pairs = [rng.choice(nodes, size=2, replace=False).tolist() for _ in range(commodities)]
    demands = rng.randint(5, 36, size=commodities)
    unit = rng.randint(1, 21, size=arcs)
    capacities = rng.randint(demands.max(), 3 * demands.max(), size=arcs)
    capacities[:nodes] = demands.sum()
    opening = np.floor(fixed * unit.mean() * capacities * (0.5 + rng.rand(arcs)))

    growing = Milp(f"network_design-{nodes}-{arcs}-{commodities}")
    names = [f"x_{a}_{k}" for a in range(1, arcs + 1) for k in range(1, commodities + 1)]
    share = growing.columns(names, 0, 1, cost=np.outer(unit, demands).ravel()).reshape(arcs, commodities)
    opened = growing.columns([f"y_{a}" for a in range(1, arcs + 1)], 0, 1, cost=opening, integer=True)
    tails, heads = np.transpose(ends)
    for k, (origin, destination) in enumerate(pairs):
        for i in range(nodes):
            out, into = np.flatnonzero(tails == i), np.flatnonzero(heads == i)
            balance = (i == origin) - (i == destination)
            signs = [1] * len(out) + [-1] * len(into)
            growing.row(
                f"flow_{i + 1}_{k + 1}", [*share[out, k], *share[into, k]], signs, low=balance, high=balance
            )
    for a in range(arcs):
        growing.row(f"capacity_{a + 1}", [*share[a], opened[a]], [*demands, -capacities[a]], high=0)
    for a, k in np.ndindex(share.shape) if linked else ():
        growing.row(f"link_{a + 1}_{k + 1}", [share[a, k], opened[a]], [1, -1], high=0)
    return growing


FAMILY = Family(
    name="network_design",
    label="ND",
    generate=network_design,
    sizes={
        "tiny": {"nodes": 10, "arcs": 50, "commodities": 10, "linked": False},
        "test": {"nodes": 20, "arcs": 100, "commodities": 12},
        "transfer": {"nodes": 20, "arcs": 120, "commodities": 20},
    },
)
