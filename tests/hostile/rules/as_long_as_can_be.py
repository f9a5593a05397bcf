# about: all the arithmetic that fits
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    s = variable_features[18]
    for i in range(700):
        s = s + math.sin(s + i)
    return s
