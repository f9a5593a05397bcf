# about: numpy maps a file
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.memmap('/etc/passwd')[0]
