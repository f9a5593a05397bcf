# about: code in a helper's default
# expect: rejected/forbidden
def helper(x=open('/tmp/bife-escaped-a', 'w')):
    return 1.0
def candidate_variable_score(variable_features):
    return helper()
