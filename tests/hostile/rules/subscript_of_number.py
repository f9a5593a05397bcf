# about: a number is indexed
# expect: runtime
def candidate_variable_score(variable_features):
    x = variable_features[20]
    return x[0]
