# about: waits in a debugger
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    breakpoint()
    return 1.0
