# about: lists kept alive in lists
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = [[1.0] * 1000000 for i in range(100000)]
    return x[3][4] + len(x)
