# about: slow enough to matter in a solve
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    s = variable_features[18]
    for i in range(20000):
        s = s + math.sin(s + i)
    return s
