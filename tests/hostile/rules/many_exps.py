# about: 150 calls for the compiler
# expect: scored | timeout
# repeat: 150
def candidate_variable_score(variable_features):
    f = variable_features
    s = f[18]
    s += np.exp(-f[{i % 72}]) * 0.001
    return s
