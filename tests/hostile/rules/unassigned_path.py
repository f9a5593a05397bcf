# about: a name read before it is assigned
# expect: rejected/type
def candidate_variable_score(variable_features):
    if variable_features[20] > 1e300:
        x = 1.0
    return x
