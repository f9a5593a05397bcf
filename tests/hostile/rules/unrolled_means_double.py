# about: the mean of what exceeds a mean: each condition is written out twice
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    f = variable_features
    x = f[18]
    return np.mean([x for x in f[1:3] if x > np.mean([x for x in f[1:3] if x > np.mean([x for x in f[1:3] if x > np.mean([x for x in f[1:3] if x > np.mean([x for x in f[1:3] if x > np.mean([x for x in f[1:3] if x > np.mean([x for x in f[1:3] if x > np.mean([x for x in f[1:3] if x > np.mean([x for x in f[1:3] if x > np.mean([x for x in f[1:3] if x > np.mean([x for x in f[1:3] if x > x])])])])])])])])])])])
