# about: an operator outside the language
# expect: rejected/forbidden
X = 1 @ 2
def candidate_variable_score(variable_features):
    return variable_features[18] + X
