# about: 25 loops inside each other
# expect: rejected/forbidden
# repeat: 25
def candidate_variable_score(variable_features):
    x = 0.0
{'    ' * i}    for i{i} in range(3):
                                                                                                        x = x + 1.0
    return x
