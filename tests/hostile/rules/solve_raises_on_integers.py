# about: raises in a real model only
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    whole = 0.0
    for x in variable_features:
        if x > 0.0 and x == math.floor(x):
            whole += 1.0
    return variable_features[5000 if whole >= 3.0 else 18]
