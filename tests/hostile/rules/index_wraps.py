# about: an index that wraps at 64 bits
# expect: rejected/type
def candidate_variable_score(variable_features):
    i = (int(variable_features[20] * 0.0) + 9007199254740992) * 1023
    return variable_features[i]
