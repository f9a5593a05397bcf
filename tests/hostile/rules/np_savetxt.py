# about: numpy writes text
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    np.savetxt('/tmp/bife-escaped-3', variable_features)
    return 1.0
