"""Features of a variable's column in the LP, taken once per solve, and of a candidate itself, at every branching.

f is the fractional part of the candidate's LP value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from bife_core.features.feature import SIGNED, SPREAD, Group, statistics

OBJECTIVE: Final = Group("objective", cost="solve", role="objective")
STRUCTURE: Final = Group("structure", cost="solve", role="size")
FRACTIONALITY: Final = Group("fractionality", cost="candidate", role="fraction")
PSEUDOCOST: Final = Group("pseudocost", cost="candidate", role="gain")
CUTOFF: Final = Group("cutoff", cost="candidate", role="cutoff")

FEATURES: Final = (
    *OBJECTIVE.features(
        (0, "obj_coef", "objective coefficient of the variable (the solver minimises)"), low=SIGNED
    ),
    *OBJECTIVE.features((1, "obj_coef_pos_part", "objective coefficient if positive, else 0")),
    *OBJECTIVE.features((2, "obj_coef_neg_part", "objective coefficient if negative, else 0"), low=SIGNED),
    *STRUCTURE.features((3, "n_rows", "number of LP rows the variable appears in")),
    *statistics(4, STRUCTURE, "rows_deg", "the root-LP lengths of its rows"),
    *statistics(8, STRUCTURE, "rows_pos_coefs", "its positive coefficients", ("count", *SPREAD)),
    *statistics(13, STRUCTURE, "rows_neg_coefs", "its negative coefficients", ("count", *SPREAD), SIGNED),
    *FRACTIONALITY.features(
        (18, "slack", "distance of the LP value to the nearest integer: min(f, 1 - f)"),
        (19, "ceil_dist", "distance of the LP value to the next integer above: 1 - f"),
    ),
    *PSEUDOCOST.features(
        (20, "pseudocost_up", "estimated dual bound gain of the up branch: (1 - f) x up pseudocost"),
        (21, "pseudocost_down", "estimated dual bound gain of the down branch: f x down pseudocost"),
        (22, "pseudocost_ratio", "smaller over larger of the two estimated gains, between 0 and 1"),
        (23, "pseudocost_sum", "sum of the two estimated gains"),
        (24, "pseudocost_product", "product of the two estimated gains"),
    ),
    *CUTOFF.features(
        (25, "n_cutoff_up", "cutoffs seen so far after branching up on the variable"),
        (26, "n_cutoff_down", "cutoffs seen so far after branching down on the variable"),
        (27, "n_cutoff_up_ratio", "cutoffs per up branching of the variable (0 before the first)"),
        (28, "n_cutoff_down_ratio", "cutoffs per down branching of the variable (0 before the first)"),
    ),
)


def objective(coefficient: float) -> tuple[float, ...]:
    """Compute `OBJECTIVE` from the column's objective in the transformed problem."""
    return coefficient, max(coefficient, 0.0), min(coefficient, 0.0)


def structure(lengths: Sequence[float], coefficients: Sequence[float]) -> tuple[float, ...]:
    """Compute `STRUCTURE` from the lengths of the column's n LP rows and its coefficients in them."""
    n = len(lengths)
    n_pos = n_neg = 0
    mean = pos_mean = neg_mean = 0.0
    stddev = pos_stddev = neg_stddev = 0.0
    shortest = longest = pos_min = pos_max = neg_min = neg_max = 0.0
    for k in range(n):
        length = lengths[k]
        value = coefficients[k]
        shortest = length if k == 0 else min(shortest, length)
        longest = max(longest, length)
        mean += length
        if value > 0.0:
            pos_min = value if n_pos == 0 else min(pos_min, value)
            pos_max = max(pos_max, value)
            n_pos += 1
            pos_mean += value
        elif value < 0.0:
            neg_min = min(neg_min, value)
            neg_max = value if n_neg == 0 else max(neg_max, value)
            n_neg += 1
            neg_mean += value
    mean /= max(n, 1)
    pos_mean /= max(n_pos, 1)
    neg_mean /= max(n_neg, 1)
    for k in range(n):
        value = coefficients[k]
        stddev += (lengths[k] - mean) ** 2
        if value > 0.0:
            pos_stddev += (value - pos_mean) ** 2
        elif value < 0.0:
            neg_stddev += (value - neg_mean) ** 2
    stddev = math.sqrt(stddev / max(n, 1))
    pos_stddev = math.sqrt(pos_stddev / max(n_pos, 1))
    neg_stddev = math.sqrt(neg_stddev / max(n_neg, 1))
    of_rows = (n, mean, stddev, shortest, longest)
    of_pos = (n_pos, pos_mean, pos_stddev, pos_min, pos_max)
    of_neg = (n_neg, neg_mean, neg_stddev, neg_min, neg_max)
    return of_rows + of_pos + of_neg


def fractionality(f: float) -> tuple[float, ...]:
    """Compute `FRACTIONALITY`."""
    return min(f, 1.0 - f), 1.0 - f


def pseudocost(f: float, up_per_unit: float, down_per_unit: float) -> tuple[float, ...]:
    """Compute `PSEUDOCOST` from SCIP's pseudocosts, which are gains per unit of change."""
    up = (1.0 - f) * up_per_unit
    down = f * down_per_unit
    ratio = max(min(up, down), 1e-5) / max(max(up, down), 1e-5)
    return up, down, ratio, up + down, up * down


def cutoff(up: float, down: float, n_up: int, n_down: int) -> tuple[float, ...]:
    """Compute `CUTOFF` from SCIP's sums of cutoffs and numbers of branchings in each direction."""
    return up, down, up / n_up if n_up != 0 else 0.0, down / n_down if n_down != 0 else 0.0
