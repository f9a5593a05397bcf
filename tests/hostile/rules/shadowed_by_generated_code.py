# about: names of the rule are words that generated code uses
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    range = variable_features[18]
    max = 0.0
    for min in variable_features[0:3]:
        max = max + range * min
    len = [x for x in variable_features[20:23]]
    return max + np.max(len) + np.sum(len) + sum(len)
