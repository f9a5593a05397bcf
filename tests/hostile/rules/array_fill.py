# about: spoils the features for the next rule
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    variable_features.fill(0.0)
    return 1.0
