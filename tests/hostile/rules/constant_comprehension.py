# about: a constant that is a loop
# expect: rejected/forbidden
X = [i for i in range(10**9)]
def candidate_variable_score(variable_features):
    return variable_features[18]
