# about: a number of a million digits
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return math.factorial(1000000) * 1.0
