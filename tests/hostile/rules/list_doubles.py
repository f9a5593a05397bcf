# about: a list that doubles
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = [variable_features[18]]
    while len(x) > 0:
        x = x + x
        if len(x) < 0:
            return 1.0
    return 2.0
