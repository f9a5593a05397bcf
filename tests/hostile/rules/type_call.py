# about: a class made on the spot
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float(len(type(1.0).__name__))
