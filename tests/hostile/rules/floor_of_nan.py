# about: math.floor(nan) as an index
# expect: rejected/type
def candidate_variable_score(variable_features):
    return variable_features[math.floor(np.nan + variable_features[20])]
