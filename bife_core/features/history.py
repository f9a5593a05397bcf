"""Features of what SCIP has learnt of a variable while solving, beyond the 72 of Khalil et al., at every branching.

Where the variable itself has no history yet, SCIP answers several of them with the average over all variables.
"""

from __future__ import annotations

from typing import Final

from bife_core.features.feature import Group

INFERENCE: Final = Group("inference", cost="candidate", role="history")
CONFLICT: Final = Group("conflict", cost="candidate", role="history")
AVERAGE_CUTOFF: Final = Group("average_cutoff", cost="candidate", role="cutoff")
GMI: Final = Group("gmi", cost="candidate", role="history")
RELIABILITY: Final = Group("reliability", cost="candidate", role="reliability")
LOCKS: Final = Group("locks", cost="candidate", role="size")
ROOT: Final = Group("root", cost="candidate", role="fraction")
INCUMBENT: Final = Group("incumbent", cost="candidate", role="fraction")

FEATURES: Final = (
    *INFERENCE.features(
        (72, "inference_up", "bound changes deduced so far per up branching of the variable"),
        (73, "inference_down", "bound changes deduced so far per down branching of the variable"),
        (74, "inference_score", "SCIP's inference score: product of both averages, each raised a little"),
    ),
    *CONFLICT.features(
        (75, "conflict_score", "SCIP's conflict score: how often the variable was in recent conflicts"),
        (76, "conflict_length_score", "SCIP's conflict length score: higher for shorter conflicts"),
        (77, "vsids_up", "decayed count of conflicts the variable's up branch took part in (VSIDS)"),
        (78, "vsids_down", "decayed count of conflicts the variable's down branch took part in (VSIDS)"),
    ),
    *AVERAGE_CUTOFF.features(
        (79, "cutoff_average_up", "cutoffs per up branching, the average of all variables before the first"),
        (
            80,
            "cutoff_average_down",
            "cutoffs per down branching, the average of all variables before the first",
        ),
        (81, "cutoff_score", "SCIP's cutoff score: product of both averages, each raised a little"),
    ),
    *GMI.features(
        (82, "gmi_average", "average efficacy of Gomory cuts made from the variable's row of the tableau"),
        (83, "gmi_last", "efficacy of the last Gomory cut made from the variable's row of the tableau"),
    ),
    *RELIABILITY.features(
        (84, "pseudocost_count_up", "weighted number of gains the up pseudocost is the average of"),
        (85, "pseudocost_count_down", "weighted number of gains the down pseudocost is the average of"),
        (86, "pseudocost_variance_up", "variance of the gains per unit behind the up pseudocost"),
        (87, "pseudocost_variance_down", "variance of the gains per unit behind the down pseudocost"),
    ),
    *LOCKS.features(
        (88, "locks_up", "number of constraints that may be violated by rounding the variable up"),
        (89, "locks_down", "number of constraints that may be violated by rounding the variable down"),
    ),
    *ROOT.features(
        (90, "root_reduced_cost", "|best reduced cost of the variable in LPs of the root|"),
        (91, "root_distance", "|LP value - LP value at the root|"),
        (92, "solutions_distance", "|LP value - average value in the feasible solutions found so far|"),
    ),
    *INCUMBENT.features(
        (93, "incumbent_distance", "|LP value - value in the best solution known| (0 while there is none)"),
    ),
)


def inference(up: float, down: float, score: float) -> tuple[float, ...]:
    """Compute `INFERENCE`, which is what SCIP says."""
    return up, down, score


def conflict(score: float, length_score: float, up: float, down: float) -> tuple[float, ...]:
    """Compute `CONFLICT`, which is what SCIP says."""
    return score, length_score, up, down


def average_cutoff(up: float, down: float, score: float) -> tuple[float, ...]:
    """Compute `AVERAGE_CUTOFF`, which is what SCIP says."""
    return up, down, score


def gmi(average: float, last: float) -> tuple[float, ...]:
    """Compute `GMI`, which is what SCIP says."""
    return average, last


def reliability(n_up: float, n_down: float, variance_up: float, variance_down: float) -> tuple[float, ...]:
    """Compute `RELIABILITY`, which is what SCIP says."""
    return n_up, n_down, variance_up, variance_down


def locks(up: float, down: float) -> tuple[float, ...]:
    """Compute `LOCKS`, which is what SCIP says."""
    return up, down


def root(value: float, reduced_cost: float, at_root: float, average: float) -> tuple[float, ...]:
    """Compute `ROOT` from the LP value and from what SCIP has kept of the root and of solutions."""
    return abs(reduced_cost), abs(value - at_root), abs(value - average)


def incumbent(value: float, in_incumbent: float) -> tuple[float, ...]:
    """Compute `INCUMBENT`; without an incumbent its value is taken to be that of the LP."""
    return (abs(value - in_incumbent),)
