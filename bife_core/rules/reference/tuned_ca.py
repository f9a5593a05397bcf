"""Product of fractionality, the smaller pseudocost gain and how much tight, dear and short rows hold the candidate.

Origin: ours; the product's exponents were fitted to recorded strong-branching decisions of combinatorial auctions.

Benchmark: combinatorial_auction
"""

SLACK, CEIL, UP, DOWN, ROWS, LENGTH, UNFIXED_WEIGHT, DUAL_WEIGHT = 18, 19, 20, 21, 3, 29, 60, 67
FLOOR = 1e-6


def candidate_variable_score(variable_features) -> float:
    f = variable_features
    gain = max(min(f[UP], f[DOWN]), FLOOR)
    from_below = max(1.0 - f[CEIL], FLOOR)
    tightness = max(f[DUAL_WEIGHT], FLOOR) ** 0.6 * max(f[UNFIXED_WEIGHT], FLOOR) ** 0.5
    shape = max(f[ROWS], 1.0) ** 0.75 / max(f[LENGTH], 1.0) ** 0.5
    return (max(f[SLACK], FLOOR) * gain) ** 0.5 * from_below**0.6 * tightness * shape
