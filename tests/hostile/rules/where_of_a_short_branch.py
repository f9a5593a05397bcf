# about: the same the other way round
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.where(variable_features[0:70] > 0.0, variable_features[0:3], 1.0).sum()
