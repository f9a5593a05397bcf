# about: np is a loop variable
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    for np in range(3):
        pass
    return 1.0
