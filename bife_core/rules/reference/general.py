"""Weight in tight rows times fractionality, raised by pseudocost gains and by large coefficients.

Origin: ours; fitted to recorded strong-branching decisions of five families at once so that the least agreement, over
that of a formula of the family's own, is largest (`python -m bench.general`).
"""

import math

LEAST_POSITIVE_COEFFICIENT, SLACK, PSEUDOCOST_RATIO, PSEUDOCOST_PRODUCT = 11, 18, 22, 24
ACTIVE_WEIGHT_3_SUM, ACTIVE_WEIGHT_4_SUM = 61, 67


def candidate_variable_score(variable_features) -> float:
    f = variable_features
    gain = math.sqrt(max(f[PSEUDOCOST_PRODUCT], 1e-6) * max(f[PSEUDOCOST_RATIO], 1e-6))
    tightness = math.tanh(1.7 * max(f[ACTIVE_WEIGHT_3_SUM], 1e-6))
    return (
        max(f[ACTIVE_WEIGHT_4_SUM], 1e-6)
        * tightness**3.7
        * max(f[SLACK], 1e-6) ** 0.84
        * (1.0 + 1.6 * gain) ** 2.4
        * (1.0 + 1.2 * max(f[LEAST_POSITIVE_COEFFICIENT], 1e-6)) ** 2.8
    )
