# about: exp of a large number
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    return np.exp(variable_features[20] * 1e6 + 1e6)
