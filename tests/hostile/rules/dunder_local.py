# about: a name with two underscores
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    __builtins__ = 1.0
    return 1.0
