# about: a set, whose order is not fixed
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return sum({1.0, 2.0})
