# about: 10 ** 400
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return 10 ** 400
