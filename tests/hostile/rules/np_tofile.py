# about: an array writes itself
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    variable_features.tofile('/tmp/bife-escaped-4')
    return 1.0
