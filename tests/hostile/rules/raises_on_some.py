# about: an index out of range for few candidates only
# expect: rejected/type
def candidate_variable_score(variable_features):
    i = int(min(variable_features[0], 1e6))
    return variable_features[i]
