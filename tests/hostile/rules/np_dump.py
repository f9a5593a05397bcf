# about: an array pickles itself
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    variable_features.dump('/tmp/bife-escaped-5')
    return 1.0
