# about: names of the rule are words that generated code uses
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    range = variable_features[18]
    max = abs = helper_1 = score = f = 0.0
    min = variable_features[0]
    max = max + range * min
    return max + np.maximum(abs, min) + helper_1 + score + f
