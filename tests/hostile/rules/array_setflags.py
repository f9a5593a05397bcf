# about: makes the features writable
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    variable_features.setflags(write=True)
    return 1.0
