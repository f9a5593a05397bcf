# about: a list of 9e15 numbers
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return sum([math.sin(i * 1.0) for i in range(9007199254740992)])
