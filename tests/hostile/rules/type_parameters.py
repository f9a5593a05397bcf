# about: type parameters run code from Python 3.12 on
# expect: rejected/forbidden | rejected/syntax
def candidate_variable_score[T: print](variable_features):
    return 1.0
