# about: a list of 9e15 numbers at once
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return ([1.0] * (9007199254740992 + int(variable_features[18] * 0.0)))[0]
