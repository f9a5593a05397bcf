# about: the features as objects
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features.astype(object)[0]
