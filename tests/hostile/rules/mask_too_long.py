# about: a mask longer than the features
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    m = np.asarray([True] * 5000)
    return variable_features[m].sum()
