# about: gigabytes in a real model only
# expect: scored
# solve: runtime | solved
def candidate_variable_score(variable_features):
    n = 1
    if variable_features[1] == math.floor(variable_features[1]) and variable_features[2] == math.floor(variable_features[2]):
        n = 9007199254740992
    x = [variable_features[18]] * n
    return x[0]
