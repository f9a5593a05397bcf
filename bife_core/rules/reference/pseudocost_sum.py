"""Sum of the two pseudocost gains.

Origin: a score as old as pseudocosts themselves (Benichou et al., "Experiments in mixed-integer linear
programming", 1971); Linderoth and Savelsbergh (1999) compare it with others.
"""

SUM = 23


def candidate_variable_score(variable_features) -> float:
    return variable_features[SUM]
