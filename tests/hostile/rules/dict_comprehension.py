# about: a table by loop
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return {i: i for i in range(3)}[0] * 1.0
