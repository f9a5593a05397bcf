# about: strings of numpy
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.char.add('a', 'b')
