# about: leaves a file behind
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    open('/tmp/bife-escaped-1', 'w').write('x')
    return 1.0
