# about: an else part of a loop
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    while variable_features[20] > 1e9:
        break
    else:
        return 1.0
    return 2.0
