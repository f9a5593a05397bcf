# about: a result written into the features
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    np.add(variable_features, 1.0, out=variable_features)
    return 1.0
