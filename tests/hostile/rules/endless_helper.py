# about: a helper that does not come back
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    def spin(x):
        while x >= 0.0:
            x = x + 1.0
            if x > 1e15:
                x = 0.0
        return x
    return spin(variable_features[18])
