# about: bytes of gigabytes
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return len(bytes(10**10))
