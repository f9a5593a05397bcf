# about: np.where reads beyond the shorter one
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.where(variable_features[0:3] > 0.0, variable_features[0:70], 1.0).sum()
