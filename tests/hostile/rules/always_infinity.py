# about: infinite for all: the first candidate wins
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    return np.inf
