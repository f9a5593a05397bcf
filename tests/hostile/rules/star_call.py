# about: arguments by star
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return max(*variable_features)
