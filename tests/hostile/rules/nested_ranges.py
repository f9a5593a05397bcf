# about: a billion billion rounds
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    s = variable_features[18]
    for i in range(1000000000):
        for j in range(1000000000):
            s = math.sin(s + i * j)
    return s
