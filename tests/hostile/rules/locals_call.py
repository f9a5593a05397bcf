# about: the local names
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float(len(locals()))
