# about: four gigabytes for each candidate
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = [variable_features[18]] * (500000000 + int(variable_features[18] * 0.0))
    return x[77] + sum(x)
