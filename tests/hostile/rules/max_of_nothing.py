# about: the largest of no number
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return max(variable_features[5:5])
