# about: a length whose size in bytes wraps to a small number
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    n = (int(variable_features[18] * 0.0) + 9007199254740992) * 256 + 1
    x = [1.0] * n
    return x[500] + len(x)
