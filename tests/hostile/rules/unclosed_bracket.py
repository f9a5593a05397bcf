# about: a bracket is missing
# expect: rejected/syntax
def candidate_variable_score(variable_features):
    return max(variable_features[20], 1e-6
