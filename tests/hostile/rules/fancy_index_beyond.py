# about: an array of indices
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    i = np.asarray([0, 1000000])
    return variable_features[i].sum()
