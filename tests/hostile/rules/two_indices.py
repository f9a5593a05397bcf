# about: a matrix where there is a row
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features[0, 1]
