# about: other bytecode
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    candidate_variable_score.__code__ = None
    return 1.0
