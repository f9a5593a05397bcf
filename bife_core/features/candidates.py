"""Features of a candidate itself, taken at every branching; f is the fractional part of its LP value."""

from __future__ import annotations

from typing import Final

from bife_core.features.feature import Feature, Group

FRACTIONALITY: Final = Group("fractionality", cost="candidate", role="fraction")
PSEUDOCOST: Final = Group("pseudocost", cost="candidate", role="gain")
CUTOFF: Final = Group("cutoff", cost="candidate", role="cutoff")

FEATURES: Final = (
    Feature(18, "slack", FRACTIONALITY, "distance of the LP value to the nearest integer: min(f, 1 - f)"),
    Feature(19, "ceil_dist", FRACTIONALITY, "distance of the LP value to the next integer above: 1 - f"),
    Feature(
        20,
        "pseudocost_up",
        PSEUDOCOST,
        "estimated dual bound gain of the up branch: (1 - f) x up pseudocost",
    ),
    Feature(
        21,
        "pseudocost_down",
        PSEUDOCOST,
        "estimated dual bound gain of the down branch: f x down pseudocost",
    ),
    Feature(
        22,
        "pseudocost_ratio",
        PSEUDOCOST,
        "smaller over larger of the two estimated gains, between 0 and 1",
    ),
    Feature(23, "pseudocost_sum", PSEUDOCOST, "sum of the two estimated gains"),
    Feature(24, "pseudocost_product", PSEUDOCOST, "product of the two estimated gains"),
    Feature(25, "n_cutoff_up", CUTOFF, "cutoffs seen so far after branching up on the variable"),
    Feature(26, "n_cutoff_down", CUTOFF, "cutoffs seen so far after branching down on the variable"),
    Feature(27, "n_cutoff_up_ratio", CUTOFF, "cutoffs per up branching of the variable (0 before the first)"),
    Feature(
        28, "n_cutoff_down_ratio", CUTOFF, "cutoffs per down branching of the variable (0 before the first)"
    ),
)


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
