# about: far beyond
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features[9007199254740992]
