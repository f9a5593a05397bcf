# about: 9e15 rounds
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    s = 0.0
    for i in range(9007199254740992):
        s = s + math.sin(s + i)
    return s
