"""Fractionality times the geometric mean of the pseudocost gains, raised where the tight rows weigh much.

Origin: the rule BiFE's paper publishes for set covering, re-expressed. The paper maps scores from 0 to 100
to 0 to 1 by a logarithm and cuts off what lies above; here they are cut off at 100.

Benchmark: set_covering
"""

import math

SLACK, UP, DOWN, TIGHT_ROWS, DUAL_COUNT = 18, 20, 21, 48, 66


def harmonic_mean(a, b):
    if a > 0 and b > 0:
        return 2.0 / (1.0 / a + 1.0 / b)
    return max(a, b)


def candidate_variable_score(variable_features) -> float:
    up, down = variable_features[UP], variable_features[DOWN]
    if up <= 0 or down <= 0:
        return 0.0
    activity = 1.0 + harmonic_mean(variable_features[DUAL_COUNT], variable_features[TIGHT_ROWS])
    score = variable_features[SLACK] * math.sqrt(up * down) * activity
    return min(score, 100.0)
