# about: np is a loop variable
# expect: scored
def candidate_variable_score(variable_features):
    for np in range(3):
        pass
    return 1.0
