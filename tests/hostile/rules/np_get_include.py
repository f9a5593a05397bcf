# about: a path of the machine
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float(len(np.get_include()))
