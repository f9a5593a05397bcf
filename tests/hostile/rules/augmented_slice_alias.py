# about: an alias that is added to stays an alias of nothing
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = variable_features[0:5]
    x += 1000.0
    return variable_features[0] + 0.0 * x[0]
