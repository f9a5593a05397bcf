# about: while True, compiled
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = variable_features[18]
    while True:
        x = x * 0.5 + 1.0
        if x < 0.0:
            return x
