# about: a number of a million digits
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return math.comb(10**6, 5 * 10**5) * 1.0
