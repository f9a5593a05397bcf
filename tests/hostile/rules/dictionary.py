# about: a table
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return {0: 1.0}[0]
