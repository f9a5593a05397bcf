# about: an array from a long list
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.asarray([variable_features[18]] * 400000000).sum()
