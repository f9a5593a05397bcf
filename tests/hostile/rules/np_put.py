# about: writes by function
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    np.put(variable_features, 3, 1.0)
    return 1.0
