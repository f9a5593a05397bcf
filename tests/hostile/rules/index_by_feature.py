# about: a feature as an index
# expect: rejected/type
def candidate_variable_score(variable_features):
    return variable_features[int(variable_features[0] * 1e6) + 72]
