# about: bytes as numbers
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.frombuffer(b'12345678')[0]
