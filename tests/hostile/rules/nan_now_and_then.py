# about: not a number for some
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    x = variable_features[20]
    return math.log(x - 1.0) + math.sqrt(x - 2.0)
