# about: state in a helper's default
# expect: rejected/forbidden
def helper(x, seen=[]):
    return x
def candidate_variable_score(variable_features):
    return helper(variable_features[18])
