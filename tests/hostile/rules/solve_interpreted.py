# about: a rule only Python can run, in a solve
# expect: scored
# solve: solved | timeout
def candidate_variable_score(variable_features):
    if variable_features[18] >= 0.0:
        y = variable_features[18]
    return y
