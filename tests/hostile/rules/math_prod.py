# about: a product without end
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return math.prod(range(1, 10**9)) * 1.0
