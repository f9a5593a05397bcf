# about: arguments by double star
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return max(**{'key': abs})
