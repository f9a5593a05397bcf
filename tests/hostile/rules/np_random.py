# about: a score drawn by lot
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.random.rand()
