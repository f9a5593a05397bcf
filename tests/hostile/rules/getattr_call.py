# about: an attribute by name
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return getattr(np, 'lo' + 'ad')('/tmp/x')
