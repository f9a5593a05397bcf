# about: a tuple that doubles in a loop
# expect: runtime | timeout | rejected/forbidden
def candidate_variable_score(variable_features):
    t = (1.0, 2.0)
    while len(t) > 0:
        t = t + t
        if len(t) < 0:
            return 1.0
    return 2.0
