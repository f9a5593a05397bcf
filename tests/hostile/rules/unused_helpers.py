# about: helpers nobody calls
# expect: rejected/forbidden
def a(x):
    for i in range(1000000000):
        x = x + i
    return x
def candidate_variable_score(variable_features):
    return variable_features[18]
