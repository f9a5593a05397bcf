# about: types that do not add
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return (1.0, 2.0) + variable_features[20]
