# about: a setting of everybody
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    np.set_printoptions(precision=1)
    return 1.0
