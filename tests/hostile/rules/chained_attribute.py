# about: an attribute of a result
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.mean(variable_features).real
