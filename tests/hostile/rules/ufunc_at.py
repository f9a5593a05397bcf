# about: adds in place
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    np.add.at(variable_features, 3, 1.0)
    return 1.0
