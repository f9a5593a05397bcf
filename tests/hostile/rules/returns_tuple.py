# about: two numbers
# expect: rejected/type
def candidate_variable_score(variable_features):
    return variable_features[20], variable_features[21]
