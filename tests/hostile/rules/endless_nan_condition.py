# about: a comparison with NaN never ends it
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = float('nan') * variable_features[18]
    n = 0
    while not x > 0.0:
        n = n + 1
    return n
