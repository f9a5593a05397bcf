# about: a function
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return max
