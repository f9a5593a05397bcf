"""The LP's reduced costs say which integers may stay at a bound; SCIP solves what is left, without separation."""

from __future__ import annotations

from typing import Final

import numpy as np

from bife_core.solver.starts.problem import Array, Problem

_SHARE: Final = 0.002
"""An integer stays at its bound if leaving it costs more than this share of the LP's value."""

_LEAST_FIXED: Final = 0.5  # share of the integers that stay at their bounds at least, those that cost most

_NODES: Final = 1000
_STALL_NODES: Final = 200
"""Nodes at most, and since the last better solution: where they still come, as on facility location, more nodes pay."""


def start(problem: Problem) -> list[Array]:
    """Return the best solution of the restricted problem, if any."""
    if (relaxed := problem.lp) is None:
        return []
    values, reduced = relaxed
    span = problem.upper - problem.lower
    costs = np.abs(reduced) * np.where(problem.integer, 1.0, np.where(np.isfinite(span), span, 0.0))
    usual = np.quantile(costs[problem.integer], 1.0 - _LEAST_FIXED) if problem.integer.any() else 0.0
    bound = min(_SHARE * abs(problem.objective @ values), usual)
    nearest = np.where(reduced > 0.0, problem.lower, problem.upper)
    fixed = np.where((costs > bound) & (np.abs(values - nearest) <= 1e-6), nearest, np.nan)
    for fewer in (fixed, np.where(problem.integer, fixed, np.nan)):  # the rows may need a continuous variable
        if (solution := problem.solve_restricted(fewer, _NODES, _STALL_NODES)) is not None:
            return [solution]
    return []
