# about: the address of the features
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features.ctypes.data * 1.0
