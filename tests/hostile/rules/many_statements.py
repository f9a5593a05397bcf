# about: 700 assignments
# expect: rejected/forbidden
# repeat: 700
def candidate_variable_score(variable_features):
    x = 0.0
    x = x + 1.0
