# about: a number is called
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = variable_features[20]
    return x(1.0)
