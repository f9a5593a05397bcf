# about: membership calls a method
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return 1.0 if variable_features[20] in (1.0, 2.0) else 0.0
