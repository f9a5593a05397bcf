"""Tight rows the variable appears in, each weighted by one over its sum over unfixed integer variables.

Origin: after the active-constraint methods of Patel and Chinneck (2007), which count only variables still
free to branch on. The weight is that of Khalil et al. (2016).
"""

WEIGHTED_ROWS = 60


def candidate_variable_score(variable_features) -> float:
    return variable_features[WEIGHTED_ROWS]
