"""BiFE's library: `bife.py REFERENCE FILE SECONDS GAP SEED` solves with what `bife solve --rule REFERENCE` would."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from bife_core.measure.peers import serve


def bife(file: str, gap: float | None, seed: int, *, reference: str, limit_s: float) -> Iterator[Any]:
    """Solve with a method, and the guard that the command has; `solve` measures its own time, after it compiled."""
    import bife_core

    params = {} if gap is None else {"limits/gap": gap}
    result = bife_core.solve(file, reference, seed=seed, guard=True, time_limit_s=limit_s, params=params)
    yield
    status = "limit" if result.status == "timelimit" else result.status
    missed = "" if result.violation is None else f"the solution misses {result.violation}"
    yield {"status": status, "objective": result.primal_bound, "cpu_s": result.cpu_s, "reason": missed}


if __name__ == "__main__":
    serve(partial(bife, reference=sys.argv[1], limit_s=float(sys.argv[-3])))
