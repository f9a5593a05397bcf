# about: a helper reads what it was not given
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = variable_features[18]
    def inner(y):
        return x + y
    return inner(1.0)
