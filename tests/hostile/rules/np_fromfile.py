# about: numpy reads a file
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.fromfile('/etc/passwd', dtype=float)[0]
