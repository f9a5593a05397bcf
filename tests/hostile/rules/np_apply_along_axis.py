# about: calls what it is given
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.apply_along_axis(eval, 0, variable_features)
