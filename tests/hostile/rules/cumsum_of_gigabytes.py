# about: one large array after the other
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = np.asarray([1.0] * 100000000)
    for i in range(1000):
        x = np.cumsum(x) + x
    return x[5]
