# about: other bytes of the row
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features.getfield(float, 999)[0]
