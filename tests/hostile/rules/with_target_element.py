# about: two targets, one an element
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = variable_features[3] = 1.0
    return x
