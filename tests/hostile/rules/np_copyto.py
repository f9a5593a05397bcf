# about: copies over the features
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    np.copyto(variable_features, 0.0)
    return 1.0
