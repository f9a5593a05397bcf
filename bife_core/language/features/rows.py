"""Features folded over the LP rows of a candidate, and over the active (tight) ones in four weightings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final

from bife_core.language.features.feature import SPREAD, Feature, Group, Spread, statistics

DEGREE: Final = Group("degree", cost="row", role="size")
RHS_RATIO: Final = Group("rhs_ratio", cost="row", role="share")
ONE_TO_ALL: Final = Group("one_to_all", cost="entry", role="share")
UNIT: Final = Group("active_unit", cost="row", role="activity")
ROW_SUM: Final = Group("active_row_sum", cost="entry", role="activity")
CANDIDATE_SUM: Final = Group("active_candidate_sum", cost="entry", role="activity")
DUAL: Final = Group("active_dual", cost="row", role="activity")

_RHS: Final = "{} of coefficient / (|coefficient| + |rhs|) over rows with {} right-hand side"
_SHARE: Final = "{} share of its {}. coefficient against the row's {}. coefficients"


def _weighting(first: int, group: Group, number: int, weight: str) -> Iterator[Feature]:
    prefix = f"active_coef_weight{number}"
    about = f"its active (tight) rows; weight = {weight}"
    yield from group.features((first, f"{prefix}_count", f"sum of weights of {about}"))
    what = f"weight x |its coefficient| over {about}"
    yield from statistics(first + 1, group, prefix, what, ("sum", *SPREAD))


FEATURES: Final = (
    *statistics(29, DEGREE, "rows_dynamic_deg", "the current-LP lengths of its rows"),
    *DEGREE.features(
        (33, "rows_dynamic_deg_mean_ratio", "current mean length / (root mean length + current)"),
        (34, "rows_dynamic_deg_min_ratio", "current smallest length / (root smallest length + current)"),
        (35, "rows_dynamic_deg_max_ratio", "current largest length / (root largest length + current)"),
    ),
    *RHS_RATIO.features(
        (36, "coef_pos_rhs_ratio_min", _RHS.format("smallest", "nonnegative")),
        (37, "coef_pos_rhs_ratio_max", _RHS.format("largest", "nonnegative")),
        (38, "coef_neg_rhs_ratio_min", _RHS.format("smallest", "negative")),
        (39, "coef_neg_rhs_ratio_max", _RHS.format("largest", "negative")),
        low=-1.0,
    ),
    *ONE_TO_ALL.features(
        (40, "pos_coef_pos_coef_ratio_min", _SHARE.format("smallest", "pos", "pos")),
        (41, "pos_coef_pos_coef_ratio_max", _SHARE.format("largest", "pos", "pos")),
        (42, "pos_coef_neg_coef_ratio_min", _SHARE.format("smallest", "pos", "neg")),
        (43, "pos_coef_neg_coef_ratio_max", _SHARE.format("largest", "pos", "neg")),
        (44, "neg_coef_pos_coef_ratio_min", _SHARE.format("smallest", "neg", "pos")),
        (45, "neg_coef_pos_coef_ratio_max", _SHARE.format("largest", "neg", "pos")),
        (46, "neg_coef_neg_coef_ratio_min", _SHARE.format("smallest", "neg", "neg")),
        (47, "neg_coef_neg_coef_ratio_max", _SHARE.format("largest", "neg", "neg")),
    ),
    *_weighting(48, UNIT, 1, "1"),
    *_weighting(54, ROW_SUM, 2, "1 / sum of the row's |coefficients|"),
    *_weighting(60, CANDIDATE_SUM, 3, "1 / sum of the row's |coefficients| over unfixed integer variables"),
    *_weighting(66, DUAL, 4, "|dual value of the row|"),
)

COSTLY: Final = tuple(
    feature for feature in FEATURES if re.fullmatch(r"active_.*_(mean|stddev|min|max)", feature.name)
)
"""Statistics of a weighting that cost more than its sums."""


Values = tuple[float, float, float, float, float, float]
"""Number of values, the first, sum and squares of their deviations from it, smallest and largest."""

NO_VALUES: Final[Values] = (0.0, 0.0, 0.0, 0.0, math.inf, 0.0)


def add_value(values: Values, value: float) -> Values:
    """Take a value that is not negative; sums of deviations do not cancel as sums of squares do."""
    n, first, deviations, squares, smallest, largest = values
    if n == 0.0:
        first = value
    deviation = value - first
    smallest = min(smallest, value)
    return n + 1.0, first, deviations + deviation, squares + deviation**2, smallest, max(largest, value)


def spread(values: Values) -> Spread:
    """Return mean, standard deviation, smallest and largest; all 0 without a value."""
    n, first, deviations, squares, smallest, largest = values
    if n == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    if squares == 0.0:  # all equal, as in rows of ones
        return first, 0.0, smallest, largest
    variance = max(squares - deviations * deviations / n, 0.0) / n
    return first + deviations / n, math.sqrt(variance), smallest, largest


def degree(lengths: Spread, root_mean: float, root_min: float, root_max: float) -> tuple[float, ...]:
    """Compute `DEGREE` from the spread of the rows' lengths in the LP, and from the lengths at the root."""
    mean, stddev, shortest, longest = lengths
    mean_ratio = mean / (root_mean + mean) if root_mean + mean != 0.0 else 0.0
    min_ratio = shortest / (root_min + shortest) if root_min + shortest != 0.0 else 0.0
    max_ratio = longest / (root_max + longest) if root_max + longest != 0.0 else 0.0
    return mean, stddev, shortest, longest, mean_ratio, min_ratio, max_ratio


Ratios = tuple[float, float, float, float]
NO_RATIOS: Final[Ratios] = (1.0, -1.0, 1.0, -1.0)


def add_side(ratios: Ratios, coefficient: float, side: float) -> Ratios:
    """Take one finite side of a row into `RHS_RATIO`; a left-hand side with both signs turned."""
    pos_min, pos_max, neg_min, neg_max = ratios
    magnitude = abs(coefficient) + abs(side)
    ratio = coefficient / magnitude if magnitude != 0.0 else 0.0
    if side >= 0.0:
        return min(pos_min, ratio), max(pos_max, ratio), neg_min, neg_max
    return pos_min, pos_max, min(neg_min, ratio), max(neg_max, ratio)


Shares = tuple[float, float, float, float, float, float, float, float]
NO_SHARES: Final[Shares] = (1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0)


def add_share(shares: Shares, value: float, positive: float, negative: float) -> Shares:
    """Take one row into `ONE_TO_ALL`: the candidate's coefficient, and the row's sums by sign."""
    a, b, c, d, e, f, g, h = shares
    if value > 0.0:
        same_sign = value / positive
        other_sign = 1.0 if negative == 0.0 else value / (value - negative)
        return min(a, same_sign), max(b, same_sign), min(c, other_sign), max(d, other_sign), e, f, g, h
    if value < 0.0:
        other_sign = 1.0 if positive == 0.0 else value / (value - positive)
        same_sign = value / negative
        return a, b, c, d, min(e, other_sign), max(f, other_sign), min(g, same_sign), max(h, same_sign)
    return shares


Sums = tuple[float, float]
NO_SUMS: Final[Sums] = (0.0, 0.0)


def add_active(sums: Sums, weight: float, magnitude: float) -> Sums:
    """Take one active row into count and sum: its weight, and the |coefficient| of the candidate."""
    return sums[0] + weight, sums[1] + weight * magnitude


def weight_from_sum(total: float) -> float:
    """Return the weight of a row whose |coefficients| have the given sum."""
    return 1.0 / total if total != 0.0 else 1.0
