# about: pow with three arguments
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return pow(3, 10**9, 7)
