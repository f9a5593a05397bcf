# about: a larger row
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    variable_features.resize(10**9)
    return 1.0
