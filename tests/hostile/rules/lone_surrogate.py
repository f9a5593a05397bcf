# about: half a character
# expect: rejected/syntax
def candidate_variable_score(variable_features):
    return 1.0  # í €
