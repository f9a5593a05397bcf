# about: writes a feature
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    variable_features[3] = 0.0
    return variable_features[3]
