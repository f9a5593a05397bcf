# about: numpy's namespace
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.__dict__['load']('/tmp/x')
