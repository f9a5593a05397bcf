# about: a part of the features
# expect: rejected/type
def candidate_variable_score(variable_features):
    return variable_features[20:22]
