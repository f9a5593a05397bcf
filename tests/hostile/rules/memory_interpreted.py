# about: a list of gigabytes, by Python
# expect: runtime | timeout
def candidate_variable_score(variable_features):
    if variable_features[18] > 1e300:
        y = 1.0
    x = [1.0] * 1000000000
    return y + x[3]
