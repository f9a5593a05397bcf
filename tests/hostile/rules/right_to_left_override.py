# about: text that shows in another order than it is read
# expect: rejected/syntax
def candidate_variable_score(variable_features):
    return ‮1.0
