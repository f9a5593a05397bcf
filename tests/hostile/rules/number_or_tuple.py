# about: a number on one path, a tuple on the other
# expect: rejected/type | runtime
def candidate_variable_score(variable_features):
    if variable_features[20] > 1e9:
        return 1.0
    return (1.0, 2.0)
