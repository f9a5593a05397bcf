# about: an inner product that does not fit
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.dot(variable_features[0:3], variable_features[0:50])
