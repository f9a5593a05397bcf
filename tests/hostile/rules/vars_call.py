# about: a namespace
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float(len(vars(np)))
