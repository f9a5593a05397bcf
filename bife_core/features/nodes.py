"""Features of the node, the same for all its candidates, and a candidate's gains against what is left to the node."""

from __future__ import annotations

from typing import Final

from bife_core.features.feature import Group

NODE: Final = Group("node", cost="node", role="node")
ROOM: Final = Group("room", cost="candidate", role="gain")

FEATURES: Final = (
    *NODE.features(
        (94, "node_depth", "depth of the node in the tree, the same for all candidates"),
        (95, "node_candidates", "number of candidates at the node"),
        (96, "node_gap", "gap between primal and dual bound over the larger of both, 1 before any solution"),
        (97, "node_bound", "where the node's LP value lies between dual bound (0) and cutoff (1)"),
        (
            98,
            "node_estimate",
            "where the node's estimate lies between dual bound (0) and cutoff (1), or how far beyond",
        ),
    ),
    *ROOM.features(
        (
            99,
            "pseudocost_up_share",
            "estimated up gain over what the node's LP value lacks to the cutoff, 1 at most",
        ),
        (
            100,
            "pseudocost_down_share",
            "estimated down gain over the same, 1 at most (0 before any solution)",
        ),
    ),
)


def gap(lower: float, upper: float, infinity: float) -> float:
    """Return the gap between the bounds over the larger of both in size, from 0 to 1."""
    if upper >= infinity or lower <= -infinity:
        return 1.0
    size = max(abs(lower), abs(upper))
    return min((upper - lower) / size, 1.0) if upper > lower and size > 0.0 else 0.0


def between(value: float, lower: float, cutoff: float, infinity: float) -> float:
    """Return where a value lies on the way from dual bound (0) to cutoff (1); 0 before any solution."""
    if cutoff >= infinity or cutoff <= lower or value <= lower:
        return 0.0
    return (value - lower) / (cutoff - lower)


def room_of(objective: float, cutoff: float, infinity: float) -> float:
    """Return what the LP value of a node lacks to the cutoff; 0 before any solution, or if nothing is left."""
    return cutoff - objective if cutoff < infinity and cutoff > objective else 0.0


def room(f: float, up_per_unit: float, down_per_unit: float, left: float) -> tuple[float, ...]:
    """Compute `ROOM` from SCIP's pseudocosts and from what is left to the node."""
    if left == 0.0:
        return 0.0, 0.0
    return min((1.0 - f) * up_per_unit / left, 1.0), min(f * down_per_unit / left, 1.0)
