"""Harmonic mean of the pseudocost gains, times fractionality, times the squared dual weight of tight rows.

Origin: the rule BiFE's paper publishes for combinatorial auctions, re-expressed. The paper takes a square
root, a ratio z / (z + 1) and a logistic curve on top; they keep the order of candidates and are left out.

Benchmark: combinatorial_auction
"""

SLACK, UP, DOWN, DUAL_WEIGHT = 18, 20, 21, 67
FLOOR = 1e-10


def candidate_variable_score(variable_features) -> float:
    up = max(variable_features[UP], FLOOR)
    down = max(variable_features[DOWN], FLOOR)
    fractionality = max(variable_features[SLACK], FLOOR)
    weight = max(variable_features[DUAL_WEIGHT], FLOOR)
    harmonic = up * down / (up + down)
    return fractionality * harmonic * weight * weight
