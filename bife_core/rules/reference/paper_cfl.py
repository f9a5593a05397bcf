"""Fractionality times the geometric mean of the pseudocost gains, lowered where one sign prevails.

Origin: the rule BiFE's paper publishes for capacitated facility location, re-expressed.
"""

import math

POSITIVE, NEGATIVE, SLACK, PRODUCT = 8, 13, 18, 24
FLOOR = 1e-8


def candidate_variable_score(variable_features) -> float:
    positive = max(variable_features[POSITIVE], FLOOR)
    negative = max(variable_features[NEGATIVE], FLOOR)
    balance = min(positive, negative) / max(positive, negative)
    gain = math.sqrt(max(variable_features[PRODUCT], FLOOR))
    return max(variable_features[SLACK] * gain * balance, 0.0)
