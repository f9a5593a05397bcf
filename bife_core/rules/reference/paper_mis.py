"""Weighted sum of fractionality, geometric mean of the pseudocost gains and activity of the tight rows.

Origin: the rule BiFE's paper publishes for maximum independent set, re-expressed. The paper takes the
square root of the sum, which keeps the order of candidates and is left out.

Benchmark: independent_set
"""

import math

SLACK, UP, DOWN, SUM, TIGHT_ROWS, DUAL_WEIGHT = 18, 20, 21, 23, 48, 67


def candidate_variable_score(variable_features) -> float:
    up, down = variable_features[UP], variable_features[DOWN]
    rows, dual = variable_features[TIGHT_ROWS], variable_features[DUAL_WEIGHT]

    gain = math.sqrt(up * down) if up > 1e-9 and down > 1e-9 else max(up, down)
    gain = gain / (1.0 + math.sqrt(variable_features[SUM]))
    activity = math.log1p(rows * dual) if rows > 0 and dual > 0 else 0.0
    return 2.5 * math.tanh(3.0 * variable_features[SLACK]) + 3.5 * gain + 2.0 * activity
