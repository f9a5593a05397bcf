# about: a library beyond the list
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.linalg.norm(variable_features)
