# about: from the end
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features[-1]
