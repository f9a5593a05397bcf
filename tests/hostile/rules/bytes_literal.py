# about: bytes
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float(len(b'x'))
