# about: a hidden number
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float('1e3')
