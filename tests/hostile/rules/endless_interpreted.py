# about: the same for Python, as types do not settle
# expect: timeout | rejected/type
def candidate_variable_score(variable_features):
    x = 1.0
    if variable_features[18] > 1e300:
        x = (1.0, 2.0)
    while True:
        x = 1.0
        if x == 2.0:
            return 1.0
