"""BiFE's library: `bife.py REFERENCE FILE SECONDS GAP SEED` solves with what `bife solve --rule REFERENCE` would."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from bife_core.measure.peers import serve


def bife(file: str, gap: float | None, seed: int, *, reference: str) -> Iterator[Any]:
    """Solve with a method, and the guard that the command has; `solve` measures its own time, after it compiled.

    Like the other solvers it has no limit of its own: the system ends the process.
    """
    import bife_core

    params = {} if gap is None else {"limits/gap": gap}
    method = bife_core.load_method(reference)
    yield
    result = bife_core.solve(file, method, seed=seed, guard=True, params=params)
    missed = "" if result.violation is None else f"the solution misses {result.violation}"
    yield {"status": result.status, "objective": result.primal_bound, "cpu_s": result.cpu_s, "reason": missed}


if __name__ == "__main__":
    serve(partial(bife, reference=sys.argv[1]))
