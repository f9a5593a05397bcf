"""Number of tight rows the variable appears in.

Origin: after the active-constraint methods of Patel and Chinneck, "Active-constraint variable ordering for
faster feasibility of mixed integer linear programs" (2007): each tight row counts one.
"""

TIGHT_ROWS = 48


def candidate_variable_score(variable_features) -> float:
    return variable_features[TIGHT_ROWS]
