# about: a decorator that runs code
# expect: rejected/forbidden
@print('x')
def candidate_variable_score(variable_features):
    return variable_features[18]
