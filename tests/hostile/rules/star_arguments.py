# about: any number of arguments
# expect: rejected/signature
def candidate_variable_score(*variable_features):
    return 1.0
