# about: a number of Python 2
# expect: rejected/syntax
def candidate_variable_score(variable_features):
    return 0777
