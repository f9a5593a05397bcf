# about: a computed exponent is one of floats
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    n = 9007199254740992
    return n ** n + variable_features[18]
