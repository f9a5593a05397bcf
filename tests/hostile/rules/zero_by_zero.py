# about: 0 / 0
# expect: runtime
def candidate_variable_score(variable_features):
    z = variable_features[20] * 0.0
    return z / z
