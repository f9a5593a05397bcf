# about: a slice that goes nowhere
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features[0:10:int(variable_features[20] * 0.0)].sum()
