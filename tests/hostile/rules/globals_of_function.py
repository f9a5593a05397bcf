# about: another module's names
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.mean.__globals__['os'].getpid() * 1.0
