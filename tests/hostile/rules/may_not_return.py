# about: a path without a return
# expect: rejected/type
def candidate_variable_score(variable_features):
    if variable_features[20] > 0.0:
        return 1.0
