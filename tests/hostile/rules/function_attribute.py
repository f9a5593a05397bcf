# about: state on the function
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    candidate_variable_score.calls = 1
    return 1.0
