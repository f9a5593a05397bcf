"""Kinds of costs of a solve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Cost = Literal["time", "nodes", "lp_iterations", "gap", "primal_dual_integral"]
"""CPU seconds, nodes, LP iterations, final gap or primal-dual integral of a solve; lower is better."""

LARGEST_GAP: Final = 1.0
"""The largest value of a gap, and that of an infinite bound."""

TICK_S: Final = 0.01
"""Resolution of SCIP's CPU clock; the time of a shorter solve is largely noise."""

LEAST: Final[Mapping[Cost, float]] = {
    "time": TICK_S,
    "nodes": 1.0,
    "lp_iterations": 1.0,
    "gap": 1e-4,
    "primal_dual_integral": 1000 * TICK_S,
}
"""Smaller costs count as these, since they are noise: of the integral, ten ticks at a gap of 100 %."""


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
