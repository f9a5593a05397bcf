# about: rows of different lengths
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.asarray([[1.0], [1.0, 2.0, 3.0] * 1000]).sum()
