# about: a generator
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    yield 1.0
