# about: inf - inf
# expect: runtime
def candidate_variable_score(variable_features):
    x = math.exp(1000.0)
    return x - x
