# about: options of a method
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features.sum(axis=0, out=variable_features)
