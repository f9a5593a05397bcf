# about: an assignment inside an expression
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return (y := variable_features[20]) + y
