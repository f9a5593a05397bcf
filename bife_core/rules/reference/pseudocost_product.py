"""Product of the two pseudocost gains, neither of which may vanish.

Origin: the product score of Achterberg, Koch and Martin, "Branching rules revisited" (2005), which SCIP uses.
"""

UP, DOWN = 20, 21
FLOOR = 1e-6


def candidate_variable_score(variable_features) -> float:
    return max(variable_features[UP], FLOOR) * max(variable_features[DOWN], FLOOR)
