# about: the answer was cut off
# expect: rejected/syntax
def candidate_variable_score(variable_features):
    up = variable_features[20]
    return (up *