# about: a function that calls itself
# expect: rejected/type
def candidate_variable_score(variable_features):
    return candidate_variable_score(variable_features)
