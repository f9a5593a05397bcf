# about: numpy calls without end, by Python
# expect: timeout
def candidate_variable_score(variable_features):
    if variable_features[18] > 1e300:
        y = 1.0
    n = 0
    while True:
        n = n + np.sum(variable_features)
        if n == 0.5:
            return y
