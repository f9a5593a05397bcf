# about: monkey-patching numpy by assignment
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    np.sqrt = abs
    return 1.0
