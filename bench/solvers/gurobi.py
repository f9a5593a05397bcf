"""Gurobi, whose wheel has a licence for 2,000 variables and rows; a licence of the user's own is found as usual."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bife_core.measure.peers import serve

TOO_LARGE = 10010
"""Gurobi's error where a model does not fit its licence."""


def gurobi(file: str, gap: float | None, seed: int) -> Iterator[Any]:
    import gurobipy

    environment = gurobipy.Env(params={"OutputFlag": 0})
    model = gurobipy.read(file, environment)
    gaps = {} if gap is None else {"MIPGap": gap, "MIPGapAbs": gap}
    for name, value in {"Threads": 1, "Seed": seed, **gaps}.items():
        model.setParam(name, value)
    yield
    try:
        model.optimize()
    except gurobipy.GurobiError as error:
        if error.errno != TOO_LARGE:
            raise
        yield {"status": "refused", "reason": "too large for the licence"}
    words = {
        gurobipy.GRB.OPTIMAL: "optimal",
        gurobipy.GRB.INFEASIBLE: "infeasible",
        gurobipy.GRB.INF_OR_UNBD: "inforunbd",
        gurobipy.GRB.UNBOUNDED: "unbounded",
    }
    status = words.get(model.Status, f"Gurobi's status {model.Status}")
    yield {"status": status, "objective": model.ObjVal if model.SolCount else None}


if __name__ == "__main__":
    serve(gurobi)
