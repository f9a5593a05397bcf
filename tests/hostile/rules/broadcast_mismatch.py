# about: arrays that do not fit
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return (variable_features[0:3] + variable_features[0:50]).sum()
