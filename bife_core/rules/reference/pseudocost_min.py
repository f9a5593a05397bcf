"""The smaller of the two pseudocost gains: judge a variable by its worse child.

Origin: the max-min choice, one end of the weighted score of Linderoth and Savelsbergh (1999).
"""

UP, DOWN = 20, 21


def candidate_variable_score(variable_features) -> float:
    return min(variable_features[UP], variable_features[DOWN])
