# about: makes arithmetic raise
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    np.seterr(all='raise')
    return 1.0 / variable_features[20]
