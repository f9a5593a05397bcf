# about: a condition that stays true
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = 1.0
    while x > 0.0:
        x = x + 1.0
        if x > 1e300:
            x = 1.0
    return x
