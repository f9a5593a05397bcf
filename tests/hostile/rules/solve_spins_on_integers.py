# about: well behaved on recorded features, endless on those of a real model
# expect: scored
# solve: timeout | solved
def candidate_variable_score(variable_features):
    x = variable_features[24] + variable_features[25]
    here = x > 0.0 and x == x * 1.0 and variable_features[0] == math.floor(variable_features[0])
    while here and variable_features[1] == math.floor(variable_features[1]):
        x = x + 0.0
    return x
