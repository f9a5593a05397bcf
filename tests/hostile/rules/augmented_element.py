# about: adds to a feature
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    variable_features[3] += 1.0
    return variable_features[3]
