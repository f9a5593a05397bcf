# about: a format string
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float(len(f'{np.__class__}'))
