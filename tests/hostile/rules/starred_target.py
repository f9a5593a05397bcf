# about: the rest of a list
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    a, *b = variable_features
    return a
