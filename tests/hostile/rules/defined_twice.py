# about: two functions of the same name
# expect: rejected/signature
def candidate_variable_score(variable_features):
    return 1.0
def candidate_variable_score(variable_features):
    return 2.0
