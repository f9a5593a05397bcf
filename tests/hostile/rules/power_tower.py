# about: an integer of a billion digits
# expect: scored | rejected/forbidden
def candidate_variable_score(variable_features):
    return 9 ** 9 ** 9
