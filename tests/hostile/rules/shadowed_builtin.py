# about: max is something else now
# expect: rejected/forbidden
max = 1
def candidate_variable_score(variable_features):
    return variable_features[18]
