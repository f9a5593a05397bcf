# about: a list of less than nothing is empty
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = [1.0] * (int(variable_features[18] * 0.0) - 5)
    return len(x) + variable_features[18]
