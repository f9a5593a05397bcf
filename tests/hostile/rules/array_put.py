# about: writes an element by method
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    variable_features.put(3, 1.0)
    return 1.0
