# about: names BiFE uses itself
# expect: scored
def candidate_variable_score(variable_features):
    _bife_to_int = 1.0
    return _bife_to_int
