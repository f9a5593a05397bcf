# about: a constant before it is known
# expect: rejected/forbidden
X = X + 1
def candidate_variable_score(variable_features):
    return variable_features[18]
