# about: calls what it is given
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return sum(filter(None, variable_features))
