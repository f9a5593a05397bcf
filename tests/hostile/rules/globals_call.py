# about: the global names
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float(len(globals()))
