# about: a bare return
# expect: rejected/type
def candidate_variable_score(variable_features):
    return
