# about: numpy fetches an address
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.genfromtxt('http://127.0.0.1:47011/')[0]
