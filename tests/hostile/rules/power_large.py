# about: 10 ** 400
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    return 10 ** 400
