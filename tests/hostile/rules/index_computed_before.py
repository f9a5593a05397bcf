# about: before the first feature
# expect: rejected/type
def candidate_variable_score(variable_features):
    return variable_features[int(variable_features[20] * 0.0) - 500]
