# about: the matrix behind the row
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features.base[1]
