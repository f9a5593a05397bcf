"""Instances that take a tenth of a second and about a hundred branchings each, under a name of BiFE's own."""

from dataclasses import replace

import pyscipopt

from tests.data.plugin_package.bife_example.knapsack import FAMILY

KNAPSACKS = replace(FAMILY, sizes={"tiny": {"items": 20, "resources": 10}})
QUICK_AUCTIONS = replace(KNAPSACKS, name="combinatorial_auction")
"""Knapsacks that stand in for auctions, where a test is about what is done with instances."""


def locations(size=6, link="link"):
    """A small facility location, whose links are the rows that matter."""
    model = pyscipopt.Model()
    model.hideOutput()
    opened = [model.addVar(f"y{j}", vtype="B", obj=7 + 3 * (j % 4)) for j in range(size)]
    for i in range(3 * size):
        share = [model.addVar(f"x{i}_{j}", lb=0, ub=1, obj=1 + (i * j + i + 3 * j) % 11) for j in range(size)]
        model.addCons(pyscipopt.quicksum(share) == 1, name=f"demand_{i}")
        for j in range(size):
            model.addCons(share[j] - opened[j] <= 0, name=f"{link}_{i}_{j}")
    return model
