# about: an address
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return id(variable_features) * 1.0
