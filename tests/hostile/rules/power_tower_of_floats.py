# about: infinity by powers
# expect: scored | runtime
def candidate_variable_score(variable_features):
    return 9.0 ** 9.0 ** 9.0 ** variable_features[18]
