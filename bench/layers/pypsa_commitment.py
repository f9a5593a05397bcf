"""Unit commitment in PyPSA, which goes to SCIP by linopy; see `bench.layers`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pypsa

from bench.layers import example


def build(seed: int, units: int = 20, hours: int = 24) -> Any:
    """Return a network of one bus whose units are switched on and off as its load changes over a day."""
    draw = np.random.default_rng(seed)
    size = draw.uniform(40, 120, units)
    network = pypsa.Network(snapshots=range(hours))
    network.add("Carrier", "power")
    network.add("Bus", "bus", carrier="power")
    day = 0.65 + 0.2 * np.sin((np.arange(hours) - 8) * np.pi / 12) + draw.normal(0, 0.02, hours)
    network.add("Generator", "shortage", bus="bus", p_nom=size.sum(), marginal_cost=500.0)
    network.add("Load", "load", bus="bus", p_set=size.sum() * day)
    for k in range(units):
        network.add(
            "Generator",
            f"unit{k}",
            bus="bus",
            committable=True,
            p_nom=size[k],
            p_min_pu=draw.uniform(0.3, 0.6),
            marginal_cost=draw.uniform(20, 60),
            start_up_cost=draw.uniform(200, 2000),
            stand_by_cost=draw.uniform(100, 500),
            min_up_time=int(draw.integers(2, 7)),
            min_down_time=int(draw.integers(2, 7)),
            up_time_before=hours,
        )
    return network


def write(network: Any, path: Path) -> None:
    """Write the model of a network as linopy does, with its names."""
    network.optimize.create_model(include_objective_constant=False).to_file(
        path, explicit_coordinate_names=True, progress=False
    )


def solve(network: Any) -> float:
    """Solve a network, and return its objective."""
    network.optimize(
        solver_name="scip",
        include_objective_constant=False,
        progress=False,
        solver_options={"display/verblevel": 0},
    )
    return float(network.objective)


if __name__ == "__main__":
    logging.disable(logging.INFO)
    example(__doc__, build, write, solve)
