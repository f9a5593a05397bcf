# about: 9e15 rounds of Python
# expect: timeout
def candidate_variable_score(variable_features):
    if variable_features[18] > 1e300:
        y = 1.0
    s = 0.0
    for i in range(9007199254740992):
        s = s + 1.0
    return y + s
