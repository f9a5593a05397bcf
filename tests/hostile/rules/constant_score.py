# about: no opinion at all
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    return 1.0
