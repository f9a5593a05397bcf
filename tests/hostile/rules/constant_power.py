# about: a constant that is a tower of powers
# expect: scored | rejected/forbidden
X = 9 ** 9 ** 9 ** 9
def candidate_variable_score(variable_features):
    return variable_features[18] + X
