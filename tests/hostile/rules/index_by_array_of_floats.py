# about: indices that are no integers
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features[variable_features[0:3]].sum()
