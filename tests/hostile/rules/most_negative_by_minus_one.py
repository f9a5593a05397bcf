# about: the one quotient that traps a processor
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    m = (int(variable_features[18] * 0.0) + 9007199254740992) * 1024
    return m // (int(variable_features[18] * 0.0) - 1) + m % (int(variable_features[18] * 0.0) - 1) + variable_features[18]
