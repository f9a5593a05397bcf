# about: a number is indexed
# expect: rejected/type
def candidate_variable_score(variable_features):
    x = variable_features[20]
    return x[0]
