# about: a view beyond the end
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.lib.stride_tricks.as_strided(variable_features, (10**9,), (8,)).sum()
