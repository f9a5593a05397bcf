# about: a context manager
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    with np.errstate(all='raise'):
        return 1.0
