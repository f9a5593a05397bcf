# about: the smallest numbers
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    return variable_features[18] * 5e-324
