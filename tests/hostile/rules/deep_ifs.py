# about: 40 conditions inside each other
# expect: scored | rejected/syntax | rejected/forbidden
# repeat: 40
def candidate_variable_score(variable_features):
    x = 0.0
{' ' * i}    if variable_features[{i}] >= 0.0:
                                            x = variable_features[18]
    return x
