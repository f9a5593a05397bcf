# about: a counter that never arrives
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    i = int(variable_features[18] * 0.0)
    while i != 1:
        i = i + 2
    return i
