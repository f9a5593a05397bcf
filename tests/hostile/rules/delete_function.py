# about: np.sqrt is gone
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    del np.sqrt
    return 1.0
