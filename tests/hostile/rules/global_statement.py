# about: state between calls
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    global counter
    counter = 1
    return counter
