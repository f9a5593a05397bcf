# about: a comprehension that writes a feature
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return sum([1.0 for variable_features[3] in range(5)])
