# about: Python 2
# expect: rejected/syntax
def candidate_variable_score(variable_features):
    print variable_features
    return 1.0
