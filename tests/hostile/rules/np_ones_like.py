# about: memory by example
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.ones_like(variable_features)[0]
