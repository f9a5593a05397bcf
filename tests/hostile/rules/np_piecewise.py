# about: calls what it is given
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.piecewise(1.0, [True], [abs])
