"""Kinds of costs of a solve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

Cost = Literal[
    "time", "nodes", "lp_iterations", "gap", "primal_dual_integral", "primal_integral", "objective"
]
"""CPU seconds, nodes, LP iterations, final gap, one of two integrals, or objective of a solve; lower is better."""

BY_OBJECTIVE: Final = frozenset[Cost]({"primal_integral", "objective"})
"""Costs relative to the best objective known of the instance, by whatever solve."""

LARGEST_GAP: Final = 1.0
"""The largest value of a gap, and that of an infinite bound."""

LARGEST_OBJECTIVE: Final = 10.0
"""The most times the best objective known that an objective counts as, and that of a solve without a solution."""

TICK_S: Final = 0.01
"""Resolution of SCIP's CPU clock; the time of a shorter solve is largely noise."""

LEAST: Final[Mapping[Cost, float]] = {
    "time": TICK_S,
    "nodes": 1.0,
    "lp_iterations": 1.0,
    "gap": 1e-4,
    "primal_dual_integral": 1000 * TICK_S,
    "primal_integral": 10 * TICK_S,
    "objective": 1.0001,
}
"""Smaller costs count as these, since they are noise: of the integrals, ten ticks at a gap of 100 %; of the objective,
the least gap that counts."""


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


def primal_gap(objective: float | None, best: float | None, maximise: bool = False) -> float:
    """Return the gap of an objective to the best known, between 0 and 1 (Berthold, 2013); None is no solution.

    >>> primal_gap(30.0, 7.5), primal_gap(7.5, 30.0, maximise=True), primal_gap(1.0, -1.0), primal_gap(0.0, 0.0)
    (0.75, 0.75, 1.0, 0.0)
    """
    if objective is None or best is None:
        return LARGEST_GAP
    if objective == best or (objective > best) == maximise:
        return 0.0
    largest = max(abs(objective), abs(best))
    return LARGEST_GAP if objective * best < 0 else abs(objective - best) / largest


def primal_integral(
    incumbents: Iterable[tuple[float, float]], best: float | None, end_s: float, maximise: bool = False
) -> float:
    """Return the integral in seconds of the `primal_gap` of incumbents, pairs of second and objective, until `end_s`.

    >>> primal_integral([(2.0, 20.0), (6.0, 10.0)], 10.0, 60.0)
    4.0
    """
    total, gap, since_s = 0.0, LARGEST_GAP, 0.0
    for second, objective in incumbents:
        if second >= end_s:
            break
        total += gap * (second - since_s)
        since_s, gap = second, primal_gap(objective, best, maximise)
    return total + gap * (end_s - since_s)
