"""Distance of the LP value to the nearest integer.

Origin: the oldest branching rule of all (most infeasible branching); a baseline that better rules must beat.
"""

SLACK = 18


def candidate_variable_score(variable_features) -> float:
    return variable_features[SLACK]
