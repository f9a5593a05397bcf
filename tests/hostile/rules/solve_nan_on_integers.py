# about: not a number in a real model only
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    x = variable_features[18]
    if variable_features[1] == math.floor(variable_features[1]) and variable_features[2] == math.floor(variable_features[2]):
        x = math.nan
    return x
