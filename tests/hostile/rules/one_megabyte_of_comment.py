# about: 1 MB, all but a line of it a comment
# expect: rejected/forbidden
# pad: 1000000
def candidate_variable_score(variable_features):
    return variable_features[18]
