# about: a string of gigabytes
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return len('x' * 10**10)
