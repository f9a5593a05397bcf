# about: opens a pager
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    help(np)
    return 1.0
