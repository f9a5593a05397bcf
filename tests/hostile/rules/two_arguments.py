# about: one argument too many
# expect: rejected/signature
def candidate_variable_score(variable_features, depth):
    return depth
