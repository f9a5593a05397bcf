# about: a table of products
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.outer(variable_features, variable_features)[0, 0]
