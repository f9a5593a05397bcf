# about: a ufunc's method
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.add.reduce(variable_features)
