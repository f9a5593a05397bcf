# about: attributes by a format string
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float(len('{0.__class__}'.format(np)))
