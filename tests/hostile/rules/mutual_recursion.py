# about: two functions that call each other
# expect: rejected/forbidden
def a(x):
    return b(x)
def b(x):
    return a(x)
def candidate_variable_score(variable_features):
    return a(variable_features[18])
