# about: int(nan)
# expect: runtime
def candidate_variable_score(variable_features):
    return int(math.log(-1.0 - variable_features[20] ** 2))
