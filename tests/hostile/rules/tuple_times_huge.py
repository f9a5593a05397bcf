# about: a tuple of 9e15 numbers
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return ((1.0,) * 9007199254740992)[0]
