# about: repeated squaring of an integer
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    n = 3
    for i in range(64):
        n = n ** 2
    return n + variable_features[18]
