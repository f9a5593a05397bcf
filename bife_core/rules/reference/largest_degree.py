"""Mean length of the rows the variable appears in, times their number.

Origin: degree branching, as exact algorithms for covering and independent sets use it: decide first what
touches most.
"""

ROWS, MEAN_LENGTH = 3, 29


def candidate_variable_score(variable_features) -> float:
    return variable_features[ROWS] * variable_features[MEAN_LENGTH]
