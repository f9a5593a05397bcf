# about: the root of all
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    object()
    return 1.0
