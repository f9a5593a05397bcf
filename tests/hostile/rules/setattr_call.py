# about: monkey-patching numpy
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    setattr(np, 'sqrt', abs)
    return 1.0
