# about: a loop of one too many
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    s = 0.0
    for i in range(len(variable_features) + 1):
        s = s + variable_features[i]
    return s
