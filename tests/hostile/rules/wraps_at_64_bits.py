# about: an integer product that wraps
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    n = 9007199254740991
    for i in range(20):
        n = n * n + i
    return n + variable_features[18]
