# about: a function of functions
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.vectorize(abs)(variable_features)[0]
