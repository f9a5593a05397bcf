# about: an array has one dimension
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features.shape[int(variable_features[20] * 0.0) + 1]
