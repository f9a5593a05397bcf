# about: the truth of an array
# expect: runtime | rejected/type
def candidate_variable_score(variable_features):
    if variable_features > 0.0:
        return 1.0
    return 0.0
