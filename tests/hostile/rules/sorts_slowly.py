# about: a sort of sorts
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    s = 0.0
    for i in range(2000):
        s = s + np.sort(variable_features)[i % 72] + np.median(variable_features)
    return s
