# about: a loop that writes a feature
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    for variable_features[3] in range(5):
        pass
    return 1.0
