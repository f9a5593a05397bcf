# about: text as numbers
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.fromstring('1 2 3', sep=' ')[0]
