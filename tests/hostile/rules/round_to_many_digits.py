# about: round to a computed number of digits
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return round(variable_features[18], int(variable_features[20]))
