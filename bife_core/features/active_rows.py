"""Features folded over the active (tight) rows of a candidate, in four weightings, at every branching."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bife_core.features.feature import SPREAD, Feature, Group, statistics

UNIT: Final = Group("active_unit", cost="row", role="activity")
ROW_SUM: Final = Group("active_row_sum", cost="entry", role="activity")
CANDIDATE_SUM: Final = Group("active_candidate_sum", cost="entry", role="activity")
DUAL: Final = Group("active_dual", cost="row", role="activity")


def _weighting(first: int, group: Group, number: int, weight: str) -> Iterator[Feature]:
    prefix = f"active_coef_weight{number}"
    about = f"its active (tight) rows; weight = {weight}"
    yield from group.features((first, f"{prefix}_count", f"sum of weights of {about}"))
    what = f"weight x |its coefficient| over {about}"
    yield from statistics(first + 1, group, prefix, what, ("sum", *SPREAD))


FEATURES: Final = (
    *_weighting(48, UNIT, 1, "1"),
    *_weighting(54, ROW_SUM, 2, "1 / sum of the row's |coefficients|"),
    *_weighting(60, CANDIDATE_SUM, 3, "1 / sum of the row's |coefficients| over unfixed integer variables"),
    *_weighting(66, DUAL, 4, "|dual value of the row|"),
)

COSTLY: Final = tuple(feature for feature in FEATURES if not feature.name.endswith(("_count", "_sum")))
"""What is no sum of a weighting, and costs more."""

Sums = tuple[float, float]
NO_SUMS: Final[Sums] = (0.0, 0.0)


def add_active(sums: Sums, weight: float, magnitude: float) -> Sums:
    """Take one active row into count and sum: its weight, and the |coefficient| of the candidate."""
    return sums[0] + weight, sums[1] + weight * magnitude


def weight_from_sum(total: float) -> float:
    """Return the weight of a row whose |coefficients| have the given sum."""
    return 1.0 / total if total != 0.0 else 1.0
