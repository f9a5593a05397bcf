"""SCIP through PySCIPOpt alone: `scip.py [FILE.set|concurrent] FILE SECONDS GAP SEED`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from bife_core.measure.peers import serve


def scip(file: str, gap: float | None, seed: int, *, settings: str = "") -> Iterator[Any]:
    """Solve under default settings, those of a file, or with `concurrent`, which has two threads."""
    from pyscipopt import Model

    model = Model()
    model.hideOutput()
    model.readProblem(file)
    if settings and settings != "concurrent":
        model.readParams(settings)
    # As BiFE's own solves have it: seed 0 keeps the order of the file, others permute it.
    seeds = {"randomseedshift": seed, "lpseed": seed, "permutationseed": seed, "permutevars": seed > 0}
    for name, value in seeds.items():
        model.setParam(f"randomization/{name}", value)
    if gap is not None:
        model.setParam("limits/gap", gap)
    yield
    if settings == "concurrent":
        model.setParams({"parallel/minnthreads": 2, "parallel/maxnthreads": 2})
        model.solveConcurrent()
    else:
        model.optimize()
    status = model.getStatus()
    yield {"status": status, "objective": model.getObjVal() if model.getNSols() else None}


if __name__ == "__main__":
    serve(partial(scip, settings=sys.argv[1] if len(sys.argv) > 5 else ""))
