# about: a loop over pairs, looked up at a computed place
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    s = 0.0
    for place, weight in ((18, 0.5), (20, 0.25), (21, 2)):
        s += variable_features[place] * weight
    rows = ((1.0, 2.0), (3.0, 4.0))
    return s + rows[int(variable_features[18] * 0.0) - 1][0]
