# about: old-style formatting
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float(len('%s' % np))
