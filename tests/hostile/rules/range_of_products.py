# about: a range whose end does not fit a machine word
# expect: rejected/type
def candidate_variable_score(variable_features):
    a = 9007199254740992
    s = 0.0
    for i in range(a * a):
        s = s + variable_features[i]
    return s + variable_features[18]
