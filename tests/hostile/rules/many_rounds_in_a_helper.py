# about: a loop in a helper that is called many times
# expect: rejected/forbidden
def spin(x):
    for i in range(300):
        x = x + math.sin(x)
    return x
def candidate_variable_score(variable_features):
    return spin(variable_features[18]) + spin(variable_features[19]) + spin(variable_features[20]) + spin(variable_features[21]) + spin(variable_features[22])
