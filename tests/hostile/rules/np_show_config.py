# about: facts about the machine
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    np.show_config()
    return 1.0
