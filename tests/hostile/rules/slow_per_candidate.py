# about: each candidate takes seconds
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    s = variable_features[18]
    for i in range(400000000):
        s = math.sin(s + i)
    return s
