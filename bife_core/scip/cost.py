"""What a solve costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Cost = Literal["time", "nodes", "lp_iterations", "gap", "primal_dual_integral"]
"""What one solve costs: CPU seconds, nodes, LP iterations, final gap or primal-dual integral; lower is better."""

LARGEST_GAP: Final = 1.0
"""What a gap counts as at most, and while a bound is infinite."""

LEAST: Final[Mapping[Cost, float]] = {
    "time": 1e-6,
    "nodes": 1.0,
    "lp_iterations": 1.0,
    "gap": 1e-4,
    "primal_dual_integral": 1e-6,
}
"""What smaller costs count as, since ratios and geometric means need positive ones."""


def relative_gap(primal: float | None, dual: float | None) -> float:
    """Return |primal - dual| / |primal|, between 0 and `LARGEST_GAP` (paper, section Metrics); None is infinite.

    Examples
    --------
    >>> round(relative_gap(100.0, 90.0), 6), relative_gap(1.0, -1.0), relative_gap(None, 3.0), relative_gap(0.0, 0.0)
    (0.1, 1.0, 1.0, 0.0)
    """
    if primal is None or dual is None:
        return LARGEST_GAP
    return min(abs(primal - dual) / (abs(primal) + 1e-9), LARGEST_GAP)
