# about: beyond a list
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = [1.0, 2.0]
    return x[int(variable_features[20] * 0.0) + 2]
