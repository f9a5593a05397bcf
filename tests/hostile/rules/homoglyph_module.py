# about: a Greek nu in np
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return νp.load('x')
