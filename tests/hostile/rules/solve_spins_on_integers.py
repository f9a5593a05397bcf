# about: well behaved on recorded features, endless on those of a real model
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    whole = 0.0
    for x in variable_features:
        if x > 0.0 and x == math.floor(x):
            whole += 1.0
    x = variable_features[18]
    while whole >= 3.0:
        x = x * 0.5 + 1.0
        if x < 0.0:
            return x
    return x
