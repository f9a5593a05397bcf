# about: no return
# expect: rejected/type
def candidate_variable_score(variable_features):
    x = variable_features[20]
