# about: a generator of a generator
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    yield from variable_features
