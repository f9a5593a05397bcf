# about: keeps a list and raises
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = [1.0] * 1000000
    return x[len(x) + int(variable_features[18] * 0.0)]
