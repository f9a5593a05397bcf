# about: the first index beyond the table
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features[72]
