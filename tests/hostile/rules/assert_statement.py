# about: assertions can be compiled away
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    assert variable_features[20] > 0
    return 1.0
