# about: a constant of a billion bits
# expect: rejected/forbidden
X = 1 << 1000000000
def candidate_variable_score(variable_features):
    return variable_features[18] * X
