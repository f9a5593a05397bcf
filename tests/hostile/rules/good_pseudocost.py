# about: a good rule
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    f = variable_features
    return max(f[20], 1e-6) * max(f[21], 1e-6)
