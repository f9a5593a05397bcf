# about: a shift by a billion
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return 1 << 1000000000
