# about: hostile only where control never goes
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    if variable_features[18] > 1e301:
        x = [1.0] * 9007199254740992
        return x[0]
    return variable_features[18]
