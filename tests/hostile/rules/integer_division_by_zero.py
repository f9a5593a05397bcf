# about: 7 // 0 and 7 % 0
# expect: runtime
def candidate_variable_score(variable_features):
    z = int(variable_features[18] * 0.0)
    return 7 // z + 7 % z + variable_features[18]
