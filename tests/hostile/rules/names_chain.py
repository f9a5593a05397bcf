# about: each name is the one before, 120 times, and the last an index
# expect: scored | rejected/forbidden
# repeat: 120
def candidate_variable_score(variable_features):
    a0 = 18
    a{i + 1} = a{i}
    return variable_features[a120]
