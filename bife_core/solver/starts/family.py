"""Earlier solutions of the family: whole, what the last ones have in common, and their most frequent values."""

from __future__ import annotations

from typing import Final

import numpy as np

from bife_core.solver.starts.problem import Array, Problem

_LAST: Final = 5  # how many of the last solutions are used

_NODES: Final = 20


def start(problem: Problem) -> list[Array]:
    """Return earlier solutions, and SCIP's best where integers keep their common, or their most frequent, values."""
    earlier = [
        np.array([values.get(name, np.nan) for name in problem.names])
        for values in problem.solutions[-_LAST:]
        if values.keys() & set(problem.names)
    ]
    if not earlier:
        return []
    rounded = np.where(problem.integer, np.round(earlier), earlier)
    agreeing = (rounded[:, None] == rounded[None]).sum(axis=1)
    frequent = np.take_along_axis(rounded, agreeing.argmax(axis=0)[None], axis=0)[0]
    inside = problem.integer & (problem.lower <= frequent) & (frequent <= problem.upper)
    common = inside & (agreeing == len(earlier)).all(axis=0)
    starts = list(rounded[::-1])
    for kept in (inside, common) if (inside != common).any() else (common,):
        if kept.any():
            solution = problem.solve_restricted(np.where(kept, frequent, np.nan), _NODES)
            if solution is not None:
                return [solution, *starts]
    return starts
