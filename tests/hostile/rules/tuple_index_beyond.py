# about: beyond a tuple
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    t = (1.0, 2.0, 3.0)
    return t[int(variable_features[20] * 0.0) + 3]
