# about: the address by protocol
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features.__array_interface__['data'][0] * 1.0
