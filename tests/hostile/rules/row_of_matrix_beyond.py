# about: a row that is not there
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    a = np.asarray([[1.0, 2.0], [3.0, 4.0]])
    return a[int(variable_features[20] * 0.0) + 5][0]
