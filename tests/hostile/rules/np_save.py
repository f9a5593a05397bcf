# about: numpy writes a file
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    np.save('/tmp/bife-escaped-2.npy', variable_features)
    return 1.0
