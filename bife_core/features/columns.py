"""Features of a variable's column in the LP, taken once per solve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from bife_core.features.feature import SIGNED, SPREAD, Group, statistics

OBJECTIVE: Final = Group("objective", cost="solve", role="objective")
STRUCTURE: Final = Group("structure", cost="solve", role="size")

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
