"""Tight rows the variable appears in, each weighted by one over the sum of its coefficients.

Origin: after the active-constraint methods of Patel and Chinneck (2007): a row with little room left to
others counts more. The weight is that of Khalil et al. (2016).
"""

WEIGHTED_ROWS = 54


def candidate_variable_score(variable_features) -> float:
    return variable_features[WEIGHTED_ROWS]
