# about: a dtype with names
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.asarray(variable_features, dtype='f8,f8')[0]
