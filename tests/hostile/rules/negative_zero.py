# about: -0.0 everywhere
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    return -0.0 * variable_features[18]
