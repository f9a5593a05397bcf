"""Facility location in Pyomo, solved by its `scip_direct`; see `bench.layers`."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pyomo.environ as pyo

from bench.layers import example


def build(seed: int, customers: int = 60, places: int = 40) -> Any:
    """Return a model: which places to open, and which share of each customer's demand each serves."""
    draw = random.Random(seed)
    where = [(draw.random(), draw.random()) for _ in range(customers + places)]
    demand = [draw.randint(5, 35) for _ in range(customers)]
    capacity = [draw.randint(60, 160) for _ in range(places)]

    model = pyo.ConcreteModel()
    model.customers, model.places = pyo.RangeSet(0, customers - 1), pyo.RangeSet(0, places - 1)
    model.open = pyo.Var(model.places, domain=pyo.Binary)
    model.share = pyo.Var(model.customers, model.places, bounds=(0, 1))

    def cost(i: int, j: int) -> float:
        (a, b), (c, d) = where[i], where[customers + j]
        return 10.0 * demand[i] * math.hypot(a - c, b - d)

    model.cost = pyo.Objective(
        expr=sum(cost(i, j) * model.share[i, j] for i in model.customers for j in model.places)
        + sum((100 + 10 * capacity[j] ** 0.5) * model.open[j] for j in model.places)
    )
    model.serve = pyo.Constraint(model.customers, rule=lambda m, i: sum(m.share[i, j] for j in m.places) == 1)
    model.limit = pyo.Constraint(
        model.places,
        rule=lambda m, j: sum(demand[i] * m.share[i, j] for i in m.customers) <= capacity[j] * m.open[j],
    )
    model.link = pyo.Constraint(
        model.customers, model.places, rule=lambda m, i, j: m.share[i, j] <= m.open[j]
    )
    return model


def write(model: Any, path: Path) -> None:
    """Write a model as Pyomo does, with its names."""
    model.write(str(path), io_options={"symbolic_solver_labels": True})


def solve(model: Any) -> float:
    """Solve a model, and return its objective."""
    pyo.SolverFactory("scip_direct").solve(model)
    return float(pyo.value(model.cost))


if __name__ == "__main__":
    example(__doc__, build, write, solve)
