# about: sorts the features for the next rule
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    variable_features.sort()
    return variable_features[0]
