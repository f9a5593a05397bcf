# about: a list by loop
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return len([math.sqrt(i * 1.0) for i in range(3000000000)])
