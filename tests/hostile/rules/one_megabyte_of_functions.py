# about: 20,000 functions
# expect: rejected/forbidden
# repeat: 20000
def candidate_variable_score(variable_features):
    return variable_features[18]
def g(x): return x * 2.0 + 1.0 - x * x + 0.125
