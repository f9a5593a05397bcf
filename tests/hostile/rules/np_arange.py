# about: a long range
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.arange(10**12)[0]
