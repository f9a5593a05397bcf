# about: ends the process
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    quit()
    return 1.0
