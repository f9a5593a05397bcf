# about: an extended feature, where decisions were recorded without
# expect: runtime
def candidate_variable_score(variable_features):
    return variable_features[72]
