# about: x / 0
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    return (variable_features[18] + 1.0) / (variable_features[18] * 0.0)
