# about: sum with a start
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return len(sum([[1.0]] * 100000, []))
