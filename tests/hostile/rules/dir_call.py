# about: a list of names
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float(len(dir(np)))
