# about: an imaginary number
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return 1j
