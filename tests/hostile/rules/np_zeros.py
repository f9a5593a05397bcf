# about: memory by function
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.zeros(10**12)[0]
