# about: max with NaN first and last
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    n = math.log(-1.0 - variable_features[20])
    return max(1.0, n) + 0.0 * variable_features[18]
