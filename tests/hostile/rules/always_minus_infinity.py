# about: never chosen
# expect: runtime
def candidate_variable_score(variable_features):
    return -np.inf
