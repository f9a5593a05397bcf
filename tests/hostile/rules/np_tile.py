# about: copies of copies
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.tile(variable_features, 10**9)[0]
