# about: state in a list outside
# expect: rejected/forbidden
CALLS = [0]
def candidate_variable_score(variable_features):
    CALLS[0] += 1
    return CALLS[0]
