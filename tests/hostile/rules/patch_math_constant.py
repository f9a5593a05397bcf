# about: pi is 3
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    math.pi = 3.0
    return math.pi
