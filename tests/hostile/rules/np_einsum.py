# about: a small language
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.einsum('i,i->', variable_features, variable_features)
