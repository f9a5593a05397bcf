# about: an array of anything
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.array([max], dtype=object)[0](1.0, 2.0)
