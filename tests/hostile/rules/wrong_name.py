# about: another function
# expect: rejected/signature
def score(variable_features):
    return variable_features[20]
