"""The best solution of a solve: by the names of variables, and as a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyscipopt

from bife_core.files import write_whole


def best_of(model: pyscipopt.Model) -> pyscipopt.scip.Solution | None:
    """Return SCIP's best solution; None if there is none, as of an unbounded model or within an objective limit."""
    bound = model.getPrimalbound()
    if not model.getNSols() or model.isInfinity(abs(bound)):
        return None
    best = model.getBestSol()
    # SCIP keeps solutions that are worse than the limit, which is its primal bound then.
    limited = not model.isInfinity(abs(model.getObjlimit()))
    return None if limited and not model.isFeasEQ(model.getSolObjVal(best), bound) else best


def solution_of(model: pyscipopt.Model) -> dict[str, float] | None:
    """Return the best solution of a model that was solved, by the names of variables; None if there is none."""
    best = best_of(model)
    if best is None:
        return None
    return {variable.name: model.getSolVal(best, variable) for variable in model.getVars()}


def write_solution(path: Path, values: Mapping[str, float], objective: float | None) -> None:
    """Write a solution as SCIP does (.sol), which it can read: the objective, then what is not 0."""
    lines = [
        f"objective value: {objective!r}",
        *(f"{name} {value!r}" for name, value in values.items() if value),
    ]
    write_whole(path, "\n".join(lines) + "\n")
