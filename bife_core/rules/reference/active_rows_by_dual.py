"""Tight rows the variable appears in, each weighted by its dual value.

Origin: after the active-constraint methods of Patel and Chinneck (2007), with the dual weight of Khalil et
al. (2016).
"""

WEIGHTED_ROWS = 66


def candidate_variable_score(variable_features) -> float:
    return variable_features[WEIGHTED_ROWS]
