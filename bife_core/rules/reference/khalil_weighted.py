"""Linear score over a handful of squashed features.

Origin: the form is that of the linear rankings of Khalil et al., "Learning to branch in mixed integer
programming" (2016), which weight these very features; the weights here are ours, chosen by hand, and no
instance is learned from.
"""

import math

ROWS, SLACK, RATIO, PRODUCT, TIGHT_ROWS, DUAL_WEIGHT = 3, 18, 22, 24, 48, 67


def candidate_variable_score(variable_features) -> float:
    f = variable_features
    tight_share = f[TIGHT_ROWS] / max(f[ROWS], 1.0)
    return (
        1.00 * math.log1p(max(f[PRODUCT], 0.0))
        + 0.50 * math.log1p(max(f[DUAL_WEIGHT], 0.0))
        + 0.25 * f[SLACK]
        + 0.10 * f[RATIO]
        + 0.10 * tight_share
    )
