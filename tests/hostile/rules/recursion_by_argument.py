# about: a function handed to itself
# expect: rejected/forbidden
def a(f, x):
    return f(f, x)
def candidate_variable_score(variable_features):
    return a(a, 1.0)
