# about: None as a value
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = None
    return 1.0 if x is None else 0.0
