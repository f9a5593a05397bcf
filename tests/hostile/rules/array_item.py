# about: an element by method
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features.item(99999)
