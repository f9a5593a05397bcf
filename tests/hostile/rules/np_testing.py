# about: numpy's own test suite
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    np.test()
    return 1.0
