# about: 1 MB of source
# expect: rejected/forbidden
# repeat: 24000
def candidate_variable_score(variable_features):
    x = 0.0
    x = x + variable_features[18] * 1.000000001
