"""How often branching on the variable has cut off a child, smoothed; ties go to the pseudocost product.

Origin: the cutoff score of hybrid branching (Achterberg and Berthold, "Hybrid branching", 2009); form ours.
"""

PRODUCT, CUTOFFS_UP, CUTOFFS_DOWN, RATE_UP, RATE_DOWN = 24, 25, 26, 27, 28


def squash(x):
    return x / (x + 1.0)


def candidate_variable_score(variable_features) -> float:
    rate = variable_features[RATE_UP] + variable_features[RATE_DOWN]
    cutoffs = variable_features[CUTOFFS_UP] + variable_features[CUTOFFS_DOWN]
    return rate * squash(cutoffs) + 1e-3 * squash(variable_features[PRODUCT])
