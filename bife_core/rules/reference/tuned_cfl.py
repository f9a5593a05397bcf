"""Fractionality, the smaller pseudocost gain and the candidate's weight in tight rows, raised by cutoffs seen above.

Origin: ours; the form was fitted to recorded strong-branching decisions of capacitated facility location and
chosen among its like by the LP iterations of solves.

Benchmark: facility_location
"""

SLACK, UP, DOWN, CUTOFFS_UP, TIGHT_SHARE = 18, 20, 21, 25, 62
FLOOR = 1e-9


def candidate_variable_score(variable_features) -> float:
    f = variable_features
    gain = max(min(f[UP], f[DOWN]), 1e-6)
    score = (max(f[SLACK], 1e-6) * gain) ** 0.6 * max(f[TIGHT_SHARE], FLOOR)
    return score * (1.0 + f[CUTOFFS_UP]) ** 0.3
