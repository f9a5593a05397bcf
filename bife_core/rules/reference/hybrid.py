"""Pseudocosts first, past cutoffs a little.

Origin: hybrid branching (Achterberg and Berthold, 2009), which adds cheap statistics of the search to the
pseudocost score. They divide each statistic by its average over the candidates; a score that sees one
candidate cannot, so the squashing is applied to the bare values.
"""

import math

UP, DOWN, CUTOFFS_UP, CUTOFFS_DOWN = 20, 21, 25, 26
FLOOR = 1e-6


def squash(x):
    return x / (x + 1.0)


def candidate_variable_score(variable_features) -> float:
    gain = math.sqrt(max(variable_features[UP], FLOOR) * max(variable_features[DOWN], FLOOR))
    cutoffs = squash(variable_features[CUTOFFS_UP] * variable_features[CUTOFFS_DOWN])
    return squash(gain) + 1e-2 * cutoffs
