# about: raises KeyboardInterrupt
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    raise KeyboardInterrupt
