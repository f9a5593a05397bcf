# about: writes by mask
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    np.putmask(variable_features, variable_features > 0, 0.0)
    return 1.0
