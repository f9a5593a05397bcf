# about: numpy reads a pickle
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.load('/tmp/x.npy', allow_pickle=True)[0]
