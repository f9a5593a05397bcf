# about: pi grows
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    np.pi += 1.0
    return np.pi
