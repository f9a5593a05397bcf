# about: helpers nobody calls
# expect: scored
# solve: solved
def a(x):
    return [x] * 1000000000
def candidate_variable_score(variable_features):
    return variable_features[18]
