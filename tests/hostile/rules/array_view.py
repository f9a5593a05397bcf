# about: the features as bytes
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features.view(np.int8)[0]
