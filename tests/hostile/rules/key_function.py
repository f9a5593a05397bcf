# about: a function as an argument
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return max([1.0, 2.0], key=abs)
