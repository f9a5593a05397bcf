# about: an argument by name only
# expect: rejected/signature
def candidate_variable_score(*, variable_features):
    return 1.0
