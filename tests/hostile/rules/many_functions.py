# about: 30 helpers
# expect: rejected/forbidden
# repeat: 30
def g{i}(x):
    return x + {i}
def candidate_variable_score(variable_features):
    return variable_features[18]
