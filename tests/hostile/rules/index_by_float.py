# about: an index that is no integer
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features[20.0]
