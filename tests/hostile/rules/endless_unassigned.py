# about: a loop before a name that may be missing
# expect: timeout
def candidate_variable_score(variable_features):
    if variable_features[18] > 1e300:
        y = 1.0
    while variable_features[18] < 1e301:
        z = 1.0
    return y
