# about: the features themselves
# expect: rejected/type
def candidate_variable_score(variable_features):
    return variable_features
