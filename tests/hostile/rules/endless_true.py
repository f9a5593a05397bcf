# about: while True, compiled
# expect: timeout
def candidate_variable_score(variable_features):
    x = variable_features[18]
    while True:
        x = x * 0.5 + 1.0
        if x < 0.0:
            return x
