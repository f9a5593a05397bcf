# about: the seed of everybody
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    np.random.seed(0)
    return 1.0
