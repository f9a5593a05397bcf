# about: a part of the features
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features[20:22]
