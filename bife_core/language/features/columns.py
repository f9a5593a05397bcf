"""Features of a column, taken once per solve, and of a candidate; f is the fractional part of its LP value."""

from __future__ import annotations

from typing import Final

from bife_core.language.features.feature import SIGNED, SPREAD, Group, Spread, statistics


def objective(coefficient: float) -> tuple[float, ...]:
    """Split the objective coefficient of the column in the transformed problem by its sign."""
    return coefficient, max(coefficient, 0.0), min(coefficient, 0.0)


def structure(
    n: float, lengths: Spread, n_pos: float, positive: Spread, n_neg: float, negative: Spread
) -> tuple[float, ...]:
    """Compute `STRUCTURE` from number and spread of rows' lengths, positive and |negative| coefficients."""
    mean, stddev, smallest, largest = negative
    # Taken from 0, for a size of 0 is to give no negative zero.
    return (n, *lengths, n_pos, *positive, n_neg, 0.0 - mean, stddev, 0.0 - largest, 0.0 - smallest)


def fractionality(f: float) -> tuple[float, ...]:
    """Compute `FRACTIONALITY`."""
    return min(f, 1.0 - f), 1.0 - f


def pseudocost(f: float, up_per_unit: float, down_per_unit: float) -> tuple[float, ...]:
    """Compute `PSEUDOCOST` from SCIP's pseudocosts, which are gains per unit of change."""
    up = (1.0 - f) * up_per_unit
    down = f * down_per_unit
    ratio = max(min(up, down), 1e-5) / max(max(up, down), 1e-5)
    return up, down, ratio, up + down, up * down


def cutoff(up: float, down: float, n_up: float, n_down: float) -> tuple[float, ...]:
    """Compute `CUTOFF` from SCIP's sums of cutoffs and numbers of branchings in each direction."""
    return up, down, up / n_up if n_up != 0 else 0.0, down / n_down if n_down != 0 else 0.0


OBJECTIVE: Final = Group(
    "objective",
    cost="solve",
    role="objective",
    formula=objective,
    inputs=("SCIP_Real SCIPcolGetObj(column)",),
)
STRUCTURE: Final = Group("structure", cost="solve", role="size")
FRACTIONALITY: Final = Group(
    "fractionality", cost="candidate", role="fraction", formula=fractionality, inputs=("fraction",)
)
PSEUDOCOST: Final = Group(
    "pseudocost",
    cost="candidate",
    role="gain",
    formula=pseudocost,
    inputs=(
        "fraction",
        "SCIP_Real SCIPgetVarPseudocost(scip, variable, UP)",
        "SCIP_Real SCIPgetVarPseudocost(scip, variable, DOWN)",
    ),
)
CUTOFF: Final = Group(
    "cutoff",
    cost="candidate",
    role="cutoff",
    formula=cutoff,
    inputs=(
        "SCIP_Real SCIPvarGetCutoffSum(variable, UP)",
        "SCIP_Real SCIPvarGetCutoffSum(variable, DOWN)",
        "SCIP_Longint SCIPvarGetNBranchings(variable, UP)",
        "SCIP_Longint SCIPvarGetNBranchings(variable, DOWN)",
    ),
)

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
