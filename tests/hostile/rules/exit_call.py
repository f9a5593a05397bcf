# about: ends the process
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    exit(3)
    return 1.0
