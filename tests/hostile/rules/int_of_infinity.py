# about: int(inf)
# expect: scored
def candidate_variable_score(variable_features):
    return int(np.inf + variable_features[20])
