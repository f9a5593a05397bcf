# about: control characters Python skips
# expect: scored
def candidate_variable_score(variable_features):
    return variable_features[18]
