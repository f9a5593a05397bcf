# about: wants gigabytes in a real model only
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    whole = sum([1.0 for x in variable_features if x > 0.0 and x == math.floor(x)])
    n = 9007199254740992 if whole >= 3.0 else 1
    x = [variable_features[18]] * n
    return x[0]
